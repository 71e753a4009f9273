import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { formatDuration } from '../base/text.ts'
import type { HttpHome } from '../http/dependencies.ts'
import { type LanguageModel, type Models, purposes } from '../models/model.ts'
import type { ModelSet } from '../models/model-set.ts'
import type { Speaker } from '../models/speech/speaker.ts'
import type { Transcriber } from '../models/speech/transcriber.ts'
import type { modelsReplySchema, Setting } from '../protocol/status.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { type Config, type ConfigProblem, diskFiles, formatProblems } from './config/config.ts'
import { type ConfigFlags, type Environment, readEnvironment, type StoredKeys } from './config/environment.ts'
import { loadConfig, readSettings } from './config/load-config.ts'
import { dottedKey, type TomlPath } from './config/toml.ts'
import type { Finding } from './doctor/checks.ts'
import { homePaths } from './home-paths.ts'

/** The externally visible state of the home while its daemon runs. */
export function openHomeDesk(dependencies: {
  home: string
  env: Readonly<Record<string, string | undefined>>
  flags: ConfigFlags
  config(): Config
  /** Keys from the vault. */
  stored(): StoredKeys
  /** Settings that take effect at the next start. */
  restartNeeded(): string[]
  reload(): Promise<ConfigProblem[]>
  models: Pick<ModelSet, 'route' | 'providers'>
  modelsOf(userId: string): Models
  sandbox: Pick<Sandbox, 'status'>
  voice: { speaker: Pick<Speaker, 'status'>; transcriber: Pick<Transcriber, 'status'> }
  /** Its address. Known once it listens. */
  baseUrl(): string
  clock: Clock
}): HttpHome {
  const { home, env, flags, config, stored, restartNeeded, models, modelsOf, sandbox, voice, baseUrl, clock } =
    dependencies
  const startedAt = clock.now()
  const looking = new Map<boolean, Promise<Finding[]>>()

  async function examine(network: boolean): Promise<Finding[]> {
    // Loaded on demand, because it is seldom used.
    const { examine: look } = await import('./doctor/examine.ts')
    const { ok, checkRestart, checkRoutes, checkSandbox, checkVoice } = await import('./doctor/checks.ts')
    const running = `${baseUrl()}, process ${process.pid}, up for ${formatDuration(clock.now() - startedAt)}`
    return look({
      homePath: home,
      env,
      stored: stored(),
      daemon: async () => ({ finding: ok('daemon', running), isRunning: true }),
      parts: {
        routes: async () => [...checkRestart(restartNeeded()), ...checkRoutes(config(), models)],
        voice: () => checkVoice(config(), home, voice),
        sandbox: () => checkSandbox(config(), sandbox),
      },
      network,
    })
  }

  function listed({ info }: LanguageModel, isOwner: boolean): z.infer<typeof modelsReplySchema>['models'][number] {
    const provider = info.id.split('/')[0] ?? ''
    const settings = isOwner ? models.providers().find(({ name }) => name === provider) : undefined
    const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = info.costPerMtok ?? []
    return {
      id: info.id,
      provider,
      providerType: settings?.type ?? null,
      hasKey: settings ? Boolean(settings.apiKey) : null,
      maxTokens: info.maxTokens,
      maxContextTokens: info.maxContextTokens,
      supportsVision: info.supportsVision,
      isOffline: info.offline === true,
      costPerMtok: info.costPerMtok && { input, output, cacheRead, cacheWrite },
    }
  }

  return {
    examine({ network }) {
      const look = looking.get(network) ?? examine(network).finally(() => looking.delete(network))
      looking.set(network, look)
      return look
    },
    settings() {
      const again = loadConfig({ home, env, flags, stored: stored() })
      return {
        home,
        settings: describeSettings({ home, env, flags, config: config() }),
        isCurrent: again.ok && isDeepStrictEqual(again.config, config()),
        problems: again.ok ? [] : formatProblems(again.problems, home),
        restartNeeded: restartNeeded(),
      }
    },
    async reload() {
      const problems = formatProblems(await dependencies.reload(), home)
      const model = models.route('primary')[0]?.info.id ?? 'none'
      return { ok: problems.length === 0, problems, restartNeeded: restartNeeded(), model }
    },
    models(userId, isOwner) {
      const own = modelsOf(userId)
      const idsOf = (route: readonly LanguageModel[]) => route.map(({ info }) => info.id)
      return {
        current: own.route('primary')[0]?.info.id ?? 'none',
        models: own.list().map((model) => listed(model, isOwner)),
        routes: [
          ...purposes.map((purpose) => ({ name: purpose, models: idsOf(own.route(purpose)) })),
          ...(config().routes.image ? [{ name: 'image', models: [...(config().routes.image ?? [])] }] : []),
          ...Object.keys(config().routes.sources).map((source) => ({
            name: `source ${source}`,
            models: idsOf(own.route('primary', source)),
          })),
        ],
      }
    },
  }
}

/** The environment variable that overrides a key of the file, and the resulting value. */
const overrides: Readonly<Record<string, { variable: string; value(config: Config): unknown }>> = {
  'http.port': { variable: 'FAMILIAR_PORT', value: ({ http }) => http.port },
  'http.host': { variable: 'FAMILIAR_HOST', value: ({ http }) => http.host },
  'database.url': {
    variable: 'FAMILIAR_DATABASE_URL',
    value: ({ database }) => plainAddress(new URL(database.url ?? 'postgres:///')),
  },
  'log.level': { variable: 'FAMILIAR_LOG', value: ({ log }) => log.level },
  'memory.embedding.provider': { variable: 'FAMILIAR_EMBEDDING', value: ({ memory }) => memory.embedding.provider },
  'sandbox.driver': { variable: 'FAMILIAR_SANDBOX', value: ({ sandbox }) => sandbox.driver },
  'telemetry.endpoint': {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    value({ telemetry: { traces, metrics } }) {
      const target = traces ?? metrics
      // Only the origin: the rest of the address may contain a key.
      return target === null ? null : new URL(target).origin
    },
  },
  'routes.primary': { variable: 'FAMILIAR_MODEL', value: ({ routes }) => routes.primary },
}

/** Every setting with its value and its source. Values that may contain a secret are hidden. */
export function describeSettings(source: {
  home: string
  env: Readonly<Record<string, string | undefined>>
  flags: ConfigFlags
  config: Config
}): Setting[] {
  const { home, env, flags, config } = source
  const paths = homePaths(home)
  // Problems are reported when the config is loaded.
  const { settings, index } = readSettings(paths.config, diskFiles, { problems: [], warnings: [] })
  const dotenv = { file: paths.environment, files: diskFiles, problems: [], warnings: [] }
  const environment = readEnvironment({ ...dotenv, env, flags })
  const described = leavesOf(settings).map(({ path, value }): Setting => {
    const isSet = index.find(path) !== undefined
    const place = isSet ? `familiar.toml:${index.lineOf(path)}` : null
    return { key: dottedKey(path), value: shown(path, value), origin: isSet ? 'file' : 'default', place }
  })
  const overridden = Object.entries(overrides).flatMap(([key, { variable, value }]) => {
    const place = placeOf(environment, variable)
    return place ? [{ key, value: JSON.stringify(value(config)), ...place }] : []
  })
  const byKey = new Map([...described, ...overridden].map((setting) => [setting.key, setting]))
  return [...byKey.values()]
}

function placeOf(environment: Environment, name: string): Pick<Setting, 'origin' | 'place'> | undefined {
  const variable = environment.get(name)
  if (!variable) return undefined
  if (variable.file === 'command line') return { origin: 'command_line', place: variable.key }
  const place = variable.line === null ? name : `${name} in .env:${variable.line}`
  return { origin: 'environment', place }
}

/** Recurses into tables; lists and empty tables are values. */
function leavesOf(value: unknown, path: TomlPath = []): { path: TomlPath; value: unknown }[] {
  const isTable = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isTable || (Object.keys(value).length === 0 && path.length > 0)) return [{ path, value }]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

/** Keys are in variables that the file only names; secrets written into an address or an argument anyway are hidden. */
function shown(path: TomlPath, value: unknown): string | null {
  if (path[0] === 'mcp' && path.at(-1) === 'args') return null
  if (typeof value === 'string' && value.includes('://') && URL.canParse(value))
    return JSON.stringify(plainAddress(new URL(value)))
  return JSON.stringify(value)
}

function plainAddress({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`
}
