import type { Setting, SettingsReply } from '../../protocol/home-api.ts'
import { homePaths } from '../home-paths.ts'
import { checkToml, dottedKey } from './check-toml.ts'
import type { Config } from './config.ts'
import { diskFiles } from './config-files.ts'
import { type ConfigFlags, type Environment, readEnvironment, readOrReport } from './environment.ts'
import { settingsSchema } from './settings-schema.ts'
import { indexToml, type TomlPath } from './toml-index.ts'

/** What of the environment lies over a key of the file, and what it says in the end. */
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
  'telemetry.endpoint': { variable: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: ({ telemetry }) => shownTarget(telemetry) },
  'routes.primary': { variable: 'FAMILIAR_MODEL', value: ({ routes }) => routes.primary },
}

/** Every setting with its value and where that comes from. Values that may hold a secret are not shown. */
export function describeSettings(source: {
  home: string
  env: Readonly<Record<string, string | undefined>>
  flags: ConfigFlags
  config: Config
}): SettingsReply['settings'] {
  const { home, env, flags, config } = source
  const paths = homePaths(home)
  const text = readOrReport(diskFiles, paths.config, []) ?? ''
  const checked = checkToml({ file: paths.config, text, schema: settingsSchema })
  const settings = (checked.ok ? checked.value : checked.sound) ?? settingsSchema.parse({})
  const index = checked.index ?? indexToml('')
  // What is wrong with them is told by who loads them.
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

interface Leaf {
  path: TomlPath
  value: unknown
}

/** Tables are gone through; lists and what is empty are values. */
function leavesOf(value: unknown, path: TomlPath = []): Leaf[] {
  const isTable = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isTable || (Object.keys(value).length === 0 && path.length > 0)) return [{ path, value }]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

/** Keys stand in variables, which the file only names; what somebody wrote into an address or an argument all the same stays there. */
function shown(path: TomlPath, value: unknown): string | null {
  if (path[0] === 'mcp' && path.at(-1) === 'args') return null
  if (typeof value === 'string' && value.includes('://') && URL.canParse(value))
    return JSON.stringify(plainAddress(new URL(value)))
  return JSON.stringify(value)
}

function plainAddress({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`
}

/** Only where it goes to: what stands in the address beyond that may be a key. */
function shownTarget({ traces, metrics }: Config['telemetry']): string | null {
  const target = traces ?? metrics
  return target === null ? null : new URL(target).origin
}
