import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import { formatDuration } from '../base/format.ts'
import type { HttpHome } from '../channels/http/http-home.ts'
import type { LanguageModel } from '../models/model.ts'
import { type Models, purposes } from '../models/models.ts'
import type { ListedModel } from '../protocol/home-api.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Speaker } from '../voice/speaker.ts'
import type { Transcriber } from '../voice/transcriber.ts'
import type { Config } from './config/config.ts'
import { formatProblems } from './config/config-problem.ts'
import { describeSettings } from './config/describe-settings.ts'
import type { ConfigFlags } from './config/environment.ts'
import { loadConfig } from './config/load-config.ts'
import type { Finding } from './doctor/finding.ts'
import type { ModelSet } from './model-set.ts'

/** What can be seen of the home from outside while its daemon runs. */
export function openHomeDesk(dependencies: {
  home: string
  env: Readonly<Record<string, string | undefined>>
  flags: ConfigFlags
  config(): Config
  models: Pick<ModelSet, 'route' | 'providers'>
  modelsOf(userId: string): Models
  sandbox: Pick<Sandbox, 'status'>
  voice: { speaker: Pick<Speaker, 'status'>; transcriber: Pick<Transcriber, 'status'> }
  /** Where it is reached. Known once it listens. */
  baseUrl(): string
  clock: Clock
}): HttpHome {
  const { home, env, flags, config, models, modelsOf, sandbox, voice, baseUrl, clock } = dependencies
  const startedAt = clock.now()
  const looking = new Map<boolean, Promise<Finding[]>>()

  async function examine(network: boolean): Promise<Finding[]> {
    // Seldom asked for: a start need not load it.
    const [{ examine: look }, { ok }, { checkRoutes }, { checkSandbox }, { checkVoice }] = await Promise.all([
      import('./doctor/examine.ts'),
      import('./doctor/finding.ts'),
      import('./doctor/check-models.ts'),
      import('./doctor/check-sandbox.ts'),
      import('./doctor/check-voice.ts'),
    ])
    const running = `${baseUrl()}, process ${process.pid}, up for ${formatDuration(clock.now() - startedAt)}`
    return look({
      homePath: home,
      env,
      daemon: async () => ({ finding: ok('daemon', running), isRunning: true }),
      parts: {
        routes: async () => checkRoutes(config(), models),
        voice: () => checkVoice(config(), home, voice),
        sandbox: () => checkSandbox(config(), sandbox),
      },
      network,
    })
  }

  function listed({ info }: LanguageModel, isOwner: boolean): ListedModel {
    const provider = info.id.split('/')[0] ?? ''
    const settings = isOwner ? models.providers().find(({ name }) => name === provider) : undefined
    const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = info.costPerMtok ?? []
    return {
      id: info.id,
      provider,
      provider_type: settings?.type ?? null,
      has_key: settings ? Boolean(settings.apiKey) : null,
      max_tokens: info.maxTokens,
      max_context_tokens: info.maxContextTokens,
      supports_vision: info.supportsVision,
      is_offline: info.offline === true,
      cost_per_mtok: info.costPerMtok && { input, output, cache_read: cacheRead, cache_write: cacheWrite },
    }
  }

  return {
    examine({ network }) {
      const known = looking.get(network)
      if (known) return known
      const look = examine(network).finally(() => looking.delete(network))
      looking.set(network, look)
      return look
    },
    settings() {
      const again = loadConfig({ home, env, flags })
      return {
        home,
        settings: describeSettings({ home, env, flags, config: config() }),
        is_current: again.ok && isDeepStrictEqual(again.config, config()),
        problems: again.ok ? [] : formatProblems(again.problems, home),
      }
    },
    models(userId, isOwner) {
      const own = modelsOf(userId)
      const idsOf = (route: readonly LanguageModel[]) => route.map(({ info }) => info.id)
      return {
        current: own.route('primary')[0]?.info.id ?? 'none',
        models: own.list().map((model) => listed(model, isOwner)),
        routes: [
          ...purposes.map((purpose) => ({ name: purpose, models: idsOf(own.route(purpose)) })),
          ...Object.keys(config().routes.sources).map((source) => ({
            name: `source ${source}`,
            models: idsOf(own.route('primary', source)),
          })),
        ],
      }
    },
  }
}
