import type { AllowedHost } from '../../egress/destination.ts'
import type { EmbeddingSettings } from '../../memory/embedding/embedding-settings.ts'
import { homePaths } from '../home-paths.ts'
import { camelKeys } from './camel-keys.ts'
import { checkRoutes } from './check-routes.ts'
import { checkToml } from './check-toml.ts'
import type { Config } from './config.ts'
import { type ConfigFiles, diskFiles } from './config-files.ts'
import { type ConfigProblem, sortProblems } from './config-problem.ts'
import { type ConfigFlags, readEnvironment, readOrReport } from './environment.ts'
import { applyOverrides } from './overrides.ts'
import { readChannels } from './read-channels.ts'
import { readEmbedding } from './read-embedding.ts'
import { readProviders } from './read-providers.ts'
import { readShared } from './read-shared.ts'
import { readTelemetry } from './read-telemetry.ts'
import { readTiers } from './read-tiers.ts'
import { readTools } from './read-tools.ts'
import { checkRemoteAccess } from './remote-access.ts'
import { type Settings, settingsSchema } from './settings-schema.ts'
import { indexToml } from './toml-index.ts'

export type LoadedConfig =
  | {
      ok: true
      config: Config
      /** The environment with `.env` under it: where keys of providers that no file names are looked for. */
      environment: Record<string, string>
      warnings: string[]
    }
  | { ok: false; problems: ConfigProblem[] }

/**
 * Defaults, `familiar.toml`, `providers.d/*.toml`, `.env`, the environment and the command line, each over the one before.
 * Reads and changes nothing else. All or nothing: with one problem anywhere there is no config, and every problem is told.
 */
export function loadConfig(source: {
  home: string
  env: Readonly<Record<string, string | undefined>>
  flags?: ConfigFlags
  files?: ConfigFiles
}): LoadedConfig {
  const paths = homePaths(source.home)
  const files = source.files ?? diskFiles
  const problems: ConfigProblem[] = []
  const warnings: string[] = []

  const { env, flags = {} } = source
  const environment = readEnvironment({ file: paths.environment, files, env, flags, problems, warnings })

  const file = paths.config
  const checked = checkToml({ file, text: readOrReport(files, file, problems) ?? '', schema: settingsSchema })
  if (!checked.ok) problems.push(...checked.problems)
  const settings = (checked.ok ? checked.value : checked.sound) ?? settingsSchema.parse({})
  const index = checked.index ?? indexToml('')

  const load = settings.providers.load?.map((name, place) => {
    const path = ['providers', 'load', place]
    return { name, file, line: index.lineOf(path), key: 'providers.load' }
  })
  const read = readProviders({ directory: paths.providers, files, environment, load, problems, warnings })
  problems.push(...checkRoutes({ file, index, routes: settings.routes, tiers: settings.tiers, read }))

  const embedding = readEmbedding({ file, embedding: settings.memory.embedding, environment, warnings })
  const tools = readTools({ file, settings, environment, warnings })
  const channels = readChannels({ file, settings, environment, warnings })
  const telemetry = readTelemetry({ settings: settings.telemetry, environment, problems, warnings })
  const shared = readShared({ file, index, shared: settings.shared, environment, problems })
  const config = { ...toConfig(settings, read.providers, embedding), ...tools, ...channels, telemetry, shared }
  problems.push(...applyOverrides({ config, environment, read, warnings }))
  problems.push(...checkRemoteAccess({ config, environment, file, index }))

  if (problems.length > 0) return { ok: false, problems: sortProblems(problems) }
  return { ok: true, config, environment: environment.values(), warnings }
}

function toConfig(
  settings: Settings,
  providers: Config['providers'],
  embedding: EmbeddingSettings,
): Omit<Config, 'tools' | 'sandbox' | 'policy' | 'mcp' | 'telegram' | 'callback' | 'voice' | 'telemetry' | 'shared'> {
  const { sources, ...routes } = settings.routes
  const { tiers, sources: tierSources } = settings.agent.context
  return {
    providers,
    routes: { ...routes, sources },
    budget: camelKeys(settings.budget),
    agent: {
      name: settings.agent.name,
      maxRounds: settings.agent.max_rounds,
      context: { tiers, sources: { system: 'operational', ...tierSources } },
    },
    sessions: camelKeys(settings.sessions),
    subagents: camelKeys(settings.subagents),
    clientTools: camelKeys(settings.client_tools),
    compaction: camelKeys(settings.compaction),
    http: camelKeys(settings.http),
    database: camelKeys(settings.database),
    egress: { allowedHosts: settings.egress.allowed_hosts.map(toAllowedHost) },
    log: settings.log,
    capabilities: camelKeys(settings.capabilities),
    assets: camelKeys(settings.assets),
    skills: settings.skills,
    memory: { ...settings.memory, embedding },
    tiers: readTiers(settings.tiers),
    keyFile: null,
    token: null,
  }
}

function toAllowedHost(text: string): AllowedHost {
  const port = /:(\d+)$/.exec(text.replace(/^\[.*\]/, ''))?.[1]
  return port === undefined ? { host: text } : { host: text.slice(0, -port.length - 1), port: Number(port) }
}
