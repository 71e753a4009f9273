import { basename, isAbsolute, join } from 'node:path'
import type { S3Settings } from '../../fleet/s3.ts'
import type { EmbeddingSettings } from '../../memory/embedding/embedders.ts'
import {
  anthropicModels,
  googleModels,
  type ModelSettings,
  openaiModels,
  type ProviderSettings,
  type ProviderType,
  providerTypes,
} from '../../models/provider-connection.ts'
import type { AllowedHost } from '../../security/network/destinations.ts'
import { tokenBits } from '../../security/tokens.ts'
import { type Plan, withBuiltInPlans } from '../../security/users.ts'
import { homePaths } from '../home-paths.ts'
import { type Config, type ConfigFiles, type ConfigProblem, camelSettings, diskFiles, sortProblems } from './config.ts'
import { type ConfigFlags, type Environment, firstOf, readEnvironment, readOrReport } from './environment.ts'
import { type Settings, settingsSchema } from './settings-schema.ts'
import { checkToml, dottedKey, indexToml, nearestName, type TomlIndex, type TomlPath } from './toml.ts'
import { baseUrl, type ProviderFile, providerSchema, usualKeyVariables } from './tools-schema.ts'

export type LoadedConfig =
  | {
      ok: true
      config: Config
      /** The environment on top of `.env`: searched for keys of providers without a file. */
      environment: Record<string, string>
      warnings: string[]
    }
  | { ok: false; problems: ConfigProblem[] }

/**
 * Defaults, `familiar.toml`, `providers.d/*.toml`, `.env`, the environment and the command line, each overriding the
 * one before. Read-only. All or nothing: with one problem there is no config, and all problems are reported.
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
    budget: camelSettings(settings.budget),
    agent: {
      name: settings.agent.name,
      maxRounds: settings.agent.max_rounds,
      context: { tiers, sources: { system: 'operational', ...tierSources } },
    },
    sessions: camelSettings(settings.sessions),
    subagents: camelSettings(settings.subagents),
    clientTools: camelSettings(settings.client_tools),
    compaction: camelSettings(settings.compaction),
    http: camelSettings(settings.http),
    database: camelSettings(settings.database),
    egress: { allowedHosts: settings.egress.allowed_hosts.map(toAllowedHost) },
    log: settings.log,
    capabilities: camelSettings(settings.capabilities),
    assets: camelSettings(settings.assets),
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

/** Always available. */
const offlineModelId = 'offline/offline'

/** Reports every route to an unknown model. */
function checkRoutes(source: {
  file: string
  index: TomlIndex
  routes: { sources: Readonly<Record<string, string[]>> } & Readonly<Partial<Record<string, unknown>>>
  tiers: Readonly<Record<string, { routes: object }>>
  read: ReadProviders
}): ConfigProblem[] {
  const { file, index, routes, tiers, read } = source
  const { sources, ...purposes } = routes
  const targets: { path: TomlPath; ids: string[] }[] = [
    ...Object.entries(purposes).map(([name, ids]) => ({ path: ['routes', name], ids: ids as string[] })),
    ...Object.entries(sources).map(([name, ids]) => ({ path: ['routes', 'sources', name], ids })),
    ...Object.entries(tiers).flatMap(([tier, { routes: own }]) =>
      Object.entries(own).map(([name, ids]) => ({ path: ['tiers', tier, 'routes', name], ids: ids as string[] })),
    ),
  ]
  return targets.flatMap(({ path, ids }) =>
    ids.flatMap((id, place) => {
      const message = describeUnknownModel(id, read)
      if (message === undefined) return []
      const exact = index.find([...path, place]) ? [...path, place] : path
      return [{ file, line: index.lineOf(exact), key: dottedKey(exact), message }]
    }),
  )
}

/** Undefined for a model that exists, or may. */
function describeUnknownModel(id: string, { providers, broken }: ReadProviders): string | undefined {
  const known = [
    ...providers.flatMap((provider) => Object.keys(provider.models).map((model) => `${provider.name}/${model}`)),
    offlineModelId,
  ]
  if (known.includes(id) || broken.has(id.split('/')[0] ?? '')) return undefined
  const near = nearestName(id, known)
  return `${JSON.stringify(id)} is not a configured model${near ? `; did you mean ${near}?` : ''} (known: ${known.join(', ')})`
}

/** Applies the environment variables to the config; each invalid one is a problem. */
function applyOverrides(source: {
  config: Config
  environment: Environment
  /** Its providers are those of the config: one that is added here is in both. */
  read: ReadProviders
  warnings: string[]
}): ConfigProblem[] {
  const { config, environment } = source
  const problems: ConfigProblem[] = []

  /** Passes the variable to `apply`, which returns what is wrong with it. */
  function override(name: string, apply: (value: string) => string | undefined) {
    const variable = environment.get(name)
    if (!variable) return
    const { value, ...place } = variable
    const message = apply(value)
    if (message !== undefined) problems.push({ ...place, message })
  }

  override('FAMILIAR_PORT', (value) => {
    const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
    if (!(port <= 65_535)) return `must be a port from 0 to 65535 (found ${JSON.stringify(value)})`
    config.http.port = port
  })
  override('FAMILIAR_HOST', (value) => {
    const checked = settingsSchema.shape.http.safeParse({ host: value })
    if (!checked.success) return 'must be a host name or address'
    config.http.host = value
  })
  override('FAMILIAR_DATABASE_URL', (value) => {
    const checked = settingsSchema.shape.database.safeParse({ url: value })
    // Not repeated here: it may contain a password.
    if (!checked.success) return 'must be an address such as postgres://user@host/database'
    config.database.url = value
  })
  override('FAMILIAR_KEY_FILE', (value) => {
    if (!isAbsolute(value))
      return `must be an absolute path, such as /mnt/familiar/key (found ${JSON.stringify(value)})`
    config.keyFile = value
  })
  override('FAMILIAR_LOG', (value) => {
    const checked = settingsSchema.shape.log.safeParse({ level: value })
    if (!checked.success) return `must be one of debug, info, warn, error (found ${JSON.stringify(value)})`
    config.log.level = checked.data.level
  })
  override('FAMILIAR_EMBEDDING', (value) => {
    // The others need more than their name.
    if (value !== 'local' && value !== 'off') return `must be local or off (found ${JSON.stringify(value)})`
    config.memory.embedding = { provider: value }
  })
  override('FAMILIAR_SANDBOX', (value) => {
    const checked = settingsSchema.shape.sandbox.safeParse({ driver: value })
    if (!checked.success) return `must be auto, embedded, container or off (found ${JSON.stringify(value)})`
    config.sandbox.driver = checked.data.driver
  })
  override('FAMILIAR_MODEL', (value) => {
    addNamedProvider(value, source)
    const message = describeUnknownModel(value, source.read)
    if (message !== undefined) return message
    config.routes.primary = [value]
  })
  override('FAMILIAR_TOKEN', (value) => {
    // It is sent in a header, as one word.
    if (!/^[\x21-\x7e]{1,512}$/.test(value)) return 'must be one word of at most 512 plain characters'
    config.token = value
  })
  return problems
}

const knownModels: Readonly<Partial<Record<ProviderType, Record<string, ModelSettings>>>> = {
  anthropic: anthropicModels,
  openai: openaiModels,
  google: googleModels,
  ollama: {},
}

/**
 * `FAMILIAR_MODEL=openai/gpt-x` needs no file: a provider without a file whose name is a type is treated as that type,
 * with its default key variable and address.
 */
function addNamedProvider(id: string, source: Parameters<typeof applyOverrides>[0]) {
  const { environment, read } = source
  const [name = '', ...rest] = id.split('/')
  const model = rest.join('/')
  const type = providerTypes.find((known) => known === name)
  const known = type && knownModels[type]
  if (!known || model === '' || read.broken.has(name) || read.providers.some((other) => other.name === name)) return
  const variables = usualKeyVariables[type] ?? []
  const apiKey = firstOf(environment, variables)
  if (variables.length > 0 && !apiKey)
    source.warnings.push(`${variables[0]} is not set, so ${name} is called without a key`)
  const settings = known[model] ?? Object.values(known).find((other) => other.model === model) ?? { model }
  read.providers.push({ name, type, ...(apiKey && { apiKey }), models: { [model]: settings, ...known } })
}

/** `[telegram]`, `[callback]` and `[voice]` with keys instead of their variables' names. */
function readChannels(source: {
  file: string
  settings: Settings
  environment: Environment
  warnings: string[]
}): Pick<Config, 'telegram' | 'callback' | 'voice'> {
  const { file, settings, environment, warnings } = source
  const { telegram, callback, voice } = settings

  function resolved(variable: string, consequence: string): string | null {
    const value = environment.get(variable)?.value
    if (value === undefined) warnings.push(`${file}: ${variable} is not set, so ${consequence}`)
    return value ?? null
  }

  function readTelegram(): Config['telegram'] {
    if (!telegram?.enabled) return null
    const token = resolved(telegram.token_env, 'Telegram stays off')
    if (token === null) return null
    return {
      token,
      allowedIds: telegram.allowed_ids,
      apiRoot: telegram.api_root.replace(/\/+$/, ''),
      repeatUnknown: telegram.repeat_unknown,
    }
  }

  function readCallback(): Config['callback'] {
    if (!callback) return null
    const secret = resolved(callback.secret_env, 'no callback is made')
    return secret === null ? null : { url: callback.url, secret, channels: callback.channels }
  }

  const { provider, base_url, api_key_env, model } = voice.transcription
  return {
    telegram: readTelegram(),
    callback: readCallback(),
    voice: {
      transcription: {
        provider,
        baseUrl: base_url ?? null,
        apiKey: api_key_env === undefined ? null : resolved(api_key_env, 'speech is transcribed without a key'),
        model: model ?? null,
      },
    },
  }
}

/** The `[memory.embedding]` table with its key instead of the variable's name. */
function readEmbedding(source: {
  file: string
  embedding: Settings['memory']['embedding']
  environment: Environment
  warnings: string[]
}): EmbeddingSettings {
  const { provider, model, base_url: baseUrl, api_key_env: variable } = source.embedding
  const apiKey = variable === undefined ? undefined : source.environment.get(variable)?.value
  if (variable !== undefined && apiKey === undefined)
    source.warnings.push(`${source.file}: ${variable} is not set, so ${provider} embeds without a key`)
  return {
    provider,
    ...(model !== undefined && { model }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
  }
}

const advice = {
  api_key:
    'is not allowed: keys do not belong in this file. Put it into .env (NAME=value) and name it here: api_key_env = "NAME"',
}

interface ReadProviders {
  providers: ProviderSettings[]
  /** Providers whose file has problems: routes to them are not checked. */
  broken: Set<string>
}

/** The requested provider files; all of them if `load` names none. */
function readProviders(source: {
  directory: string
  files: ConfigFiles
  environment: Environment
  load: { name: string; file: string; line: number; key: string }[] | undefined
  problems: ConfigProblem[]
  warnings: string[]
}): ReadProviders {
  const { directory, files, problems } = source
  const available = files
    .list(directory)
    .filter((name) => name.endsWith('.toml'))
    .map((name) => basename(name, '.toml'))
  const wanted = source.load ?? available.map((name) => ({ name, file: '', line: 1, key: '' }))

  const result: ReadProviders = { providers: [], broken: new Set() }
  for (const { name, file: askedIn, line, key } of wanted) {
    const file = join(directory, `${name}.toml`)
    if (!/^[a-z0-9][a-z0-9_-]*$/.test(name)) {
      problems.push({ file, line: 1, key: '', message: 'must have a name of lower-case letters, digits, - and _' })
      continue
    }
    if (result.providers.some((provider) => provider.name === name) || result.broken.has(name)) continue
    const text = available.includes(name) ? readOrReport(files, file, problems) : undefined
    const checked = text === undefined ? undefined : checkToml({ file, text, schema: providerSchema, advice })
    if (checked?.ok) result.providers.push(toProvider({ ...source, name, file, provider: checked.value }))
    else result.broken.add(name)
    if (checked?.ok === false) problems.push(...checked.problems)
    if (!available.includes(name)) {
      const near = nearestName(name, available)
      const hint = near
        ? `; did you mean ${near}?`
        : `; there ${available.length === 0 ? 'is no file in it' : `are: ${available.join(', ')}`}`
      problems.push({ file: askedIn, line, key, message: `providers.d/${name}.toml does not exist${hint}` })
    }
  }
  return result
}

function toProvider(source: {
  name: string
  file: string
  provider: ProviderFile
  environment: Environment
  warnings: string[]
}): ProviderSettings {
  const { name, provider, environment } = source
  const variables = provider.api_key_env ? [provider.api_key_env] : (usualKeyVariables[provider.type] ?? [])
  const apiKey = firstOf(environment, variables)
  if (variables.length > 0 && apiKey === undefined)
    source.warnings.push(`${source.file}: ${variables[0]} is not set, so ${name} is called without a key`)
  const secrets: string[] = []
  type Value = string | number | boolean | { env: string }
  function resolved<T extends Value>(table: Record<string, T> | undefined, where: string) {
    const entries = Object.entries(table ?? {}).flatMap(([key, value]): [string, Exclude<Value, object>][] => {
      if (typeof value !== 'object') {
        if (typeof value === 'string' && /auth|key|token|secret|cookie/i.test(key)) secrets.push(value)
        return [[key, value]]
      }
      const found = environment.get(value.env)?.value
      if (found === undefined)
        source.warnings.push(`${source.file}: ${value.env} is not set, so ${name} is called without ${where}.${key}`)
      else secrets.push(found)
      return found === undefined ? [] : [[key, found]]
    })
    return entries.length > 0 ? Object.fromEntries(entries) : undefined
  }
  const headers = resolved(provider.headers, 'headers') as Record<string, string> | undefined
  const query = resolved(provider.query, 'query') as Record<string, string> | undefined
  const options = resolved(provider.options, 'options')
  return {
    name,
    type: provider.type,
    ...(provider.package !== undefined && { package: provider.package }),
    ...(options && { options }),
    ...(headers && { headers }),
    ...(query && { query }),
    ...(provider.body && { body: provider.body }),
    ...(secrets.length > 0 && { secrets }),
    ...(provider.base_url !== undefined && { baseUrl: provider.base_url }),
    ...(apiKey !== undefined && { apiKey }),
    models: Object.fromEntries(Object.entries(provider.models).map(([key, model]) => [key, camelSettings(model)])),
  }
}

/** The place of files that daemons share. The keys are resolved: pass them to the redactor. */
export type SharedSettings =
  | { kind: 'directory'; directory: string }
  | { kind: 's3'; s3: S3Settings; cacheMegabytes: number }

/**
 * The `[shared]` table with keys instead of their variables' names; null if there is none. A missing key is a problem,
 * not a warning: files would go to a place that no other daemon sees.
 */
function readShared(source: {
  file: string
  index: TomlIndex
  shared: Settings['shared']
  environment: Environment
  problems: ConfigProblem[]
}): SharedSettings | null {
  const { file, index, shared, environment, problems } = source
  const { directory, s3 } = shared
  if (directory !== undefined) return { kind: 'directory', directory }
  if (!s3) return null

  function resolved(key: 'access_key_env' | 'secret_key_env' | 'session_token_env', variable: string): string {
    const value = environment.get(variable)?.value
    const line = index.lineOf(['shared', 's3', key])
    if (value === undefined) {
      problems.push({ file, line, key: `shared.s3.${key}`, message: `${variable} is not set, and the bucket needs it` })
    }
    return value ?? ''
  }

  return {
    kind: 's3',
    s3: {
      endpoint: s3.endpoint,
      region: s3.region,
      bucket: s3.bucket,
      prefix: s3.prefix === '' || s3.prefix.endsWith('/') ? s3.prefix : `${s3.prefix}/`,
      pathStyle: s3.path_style,
      accessKeyId: resolved('access_key_env', s3.access_key_env),
      secretAccessKey: resolved('secret_key_env', s3.secret_key_env),
      sessionToken:
        s3.session_token_env === undefined ? undefined : resolved('session_token_env', s3.session_token_env),
    },
    cacheMegabytes: s3.cache_megabytes,
  }
}

export interface TelemetrySettings {
  /** The addresses; null to send nothing. */
  traces: string | null
  metrics: string | null
  /** May contain keys: pass their values to the redactor. */
  headers: Record<string, string>
  /** Attributes of this daemon for the collector. */
  resource: Record<string, string>
  timeoutMs: number
  metricsIntervalMs: number
}

/** `[telemetry]`, overridden by OpenTelemetry's standard variables. */
function readTelemetry(source: {
  settings: Settings['telemetry']
  environment: Environment
  problems: ConfigProblem[]
  warnings: string[]
}): TelemetrySettings {
  const { settings, environment, problems, warnings } = source
  const value = (name: string) => environment.get(name)?.value

  function address(name: string): string | undefined {
    const variable = environment.get(name)
    if (!variable || baseUrl.safeParse(variable.value).success) return variable?.value
    const { value: _, ...place } = variable
    problems.push({ ...place, message: 'must be an http or https address without a user name or password' })
    return undefined
  }

  function milliseconds(name: string, usual: number): number {
    const text = value(name)
    if (text === undefined) return usual
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
    warnings.push(`${name} is not a number of milliseconds and is left out`)
    return usual
  }

  function pairs(name: string): Record<string, string> {
    const read = readPairs(value(name) ?? '')
    if (!read) warnings.push(`${name} is not a list of name=value and is left out`)
    return read ?? {}
  }

  const base = address('OTEL_EXPORTER_OTLP_ENDPOINT') ?? settings.endpoint
  const isOff = value('OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  const protocol = value('OTEL_EXPORTER_OTLP_PROTOCOL')

  function target(signal: 'traces' | 'metrics'): string | null {
    const name = signal.toUpperCase()
    // Always read, so that its problems are reported.
    const own = address(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`)
    if (isOff || !settings[signal] || value(`OTEL_${name}_EXPORTER`) === 'none') return null
    return own ?? (base === undefined ? null : `${base.replace(/\/+$/, '')}/v1/${signal}`)
  }

  const telemetry = {
    traces: target('traces'),
    metrics: target('metrics'),
    headers: pairs('OTEL_EXPORTER_OTLP_HEADERS'),
    resource: {
      ...pairs('OTEL_RESOURCE_ATTRIBUTES'),
      'service.name': value('OTEL_SERVICE_NAME') ?? settings.service_name,
    },
    timeoutMs: milliseconds('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000),
    metricsIntervalMs: milliseconds('OTEL_METRIC_EXPORT_INTERVAL', settings.metrics_interval_seconds * 1_000),
  }
  const isSent = telemetry.traces !== null || telemetry.metrics !== null
  if (isSent && protocol !== undefined && protocol !== 'http/json')
    warnings.push(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, but traces and metrics are sent as http/json`)
  return telemetry
}

/** `name=value,name=value` with percent escapes; undefined if it is not that. */
function readPairs(text: string): Record<string, string> | undefined {
  const parts = text.split(',').filter((part) => part.trim() !== '')
  const read = parts.map((part) => /^\s*([\w.-]+)\s*=\s*(\S.*?)\s*$/.exec(part))
  if (read.some((match) => match === null)) return undefined
  try {
    return Object.fromEntries(read.map((match) => [match?.[1] ?? '', decodeURIComponent(match?.[2] ?? '')]))
  } catch {
    return undefined
  }
}

/** `[tiers.NAME]` (plans), and the built-in ones. */
function readTiers(tiers: Settings['tiers']): Readonly<Record<string, Plan>> {
  const configured = Object.entries(tiers).map(([name, { tools, routes, budget, max_sessions }]): [string, Plan] => [
    name,
    { name, tools, routes, budget: camelSettings(budget), maxSessions: max_sessions ?? null },
  ])
  return withBuiltInPlans(Object.fromEntries(configured))
}

type ToolsConfig = Pick<Config, 'tools' | 'sandbox' | 'policy' | 'mcp'>

/** `[tools]`, `[sandbox]`, `[policy]` and `[mcp]` with keys instead of their variables' names. */
function readTools(source: {
  file: string
  settings: Settings
  environment: Environment
  warnings: string[]
}): ToolsConfig {
  const { file, settings, environment, warnings } = source

  function resolved(variable: string | undefined, consequence: string): string | null {
    if (variable === undefined) return null
    const value = environment.get(variable)?.value
    if (value === undefined) warnings.push(`${file}: ${variable} is not set, so ${consequence}`)
    return value ?? null
  }

  const { web_search: search, tts, browser } = settings.tools
  return {
    tools: {
      enabled: settings.tools.enabled,
      disabled: settings.tools.disabled,
      directories: settings.tools.directories,
      exec: settings.tools.exec,
      webSearch: search
        ? {
            provider: search.provider,
            apiKey: resolved(search.api_key_env, `${search.provider} is called without a key`),
            baseUrl: search.base_url ?? null,
          }
        : null,
      browser: { executable: browser.executable ?? null },
      tts: {
        provider: tts.provider,
        apiKey: resolved(tts.api_key_env, `${tts.provider} is called without a key`),
        voice: tts.voice ?? null,
      },
    },
    sandbox: {
      driver: settings.sandbox.driver,
      containerSocket: settings.sandbox.container_socket ?? null,
      pythonIndexUrl: settings.sandbox.python_index_url ?? null,
    },
    policy: { destinations: settings.policy.destinations, approvalMinutes: settings.policy.approval_minutes },
    mcp: {
      servers: Object.fromEntries(
        Object.entries(settings.mcp.servers).map(([name, server]) => [
          name,
          'command' in server
            ? server
            : {
                url: server.url,
                ...(server.sampling !== undefined && { sampling: server.sampling }),
                ...(server.oauth_client_id !== undefined && {
                  oauth: {
                    clientId: server.oauth_client_id,
                    clientSecret: resolved(server.oauth_client_secret_env, `the login at ${name} is made without it`),
                  },
                }),
                headers: Object.fromEntries(
                  Object.entries(server.header_env).flatMap(([header, variable]) => {
                    const value = resolved(variable, `${name} is called without ${header}`)
                    return value === null ? [] : [[header, value]]
                  }),
                ),
              },
        ]),
      ),
    },
  }
}

const neededBits = 256

/** Remote access requires two settings: a flag, and an unguessable token. */
function checkRemoteAccess(source: {
  config: Config
  environment: Environment
  file: string
  index: TomlIndex
}): ConfigProblem[] {
  const { config, environment, file, index } = source
  if (isLoopback(config.http.host)) return []
  const problems: ConfigProblem[] = []
  const variable = environment.get('FAMILIAR_HOST')
  const place = variable
    ? { file: variable.file, line: variable.line, key: variable.key }
    : { file, line: index.lineOf(['http', 'host']), key: 'http.host' }
  if (!config.http.allowRemote) {
    const message = `${config.http.host} is reachable from other machines; this requires allow_remote = true in [http] of familiar.toml`
    problems.push({ ...place, message })
  }
  if (config.token === null || tokenBits(config.token) < neededBits) {
    const token = environment.get('FAMILIAR_TOKEN')
    const found = token ? 'FAMILIAR_TOKEN is too weak' : 'FAMILIAR_TOKEN is not set'
    const message = `${config.http.host} is reachable from other machines; this requires a token of ${neededBits} bits, and ${found} (openssl rand -hex 32 makes one)`
    problems.push({ ...place, message })
  }
  return problems
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}
