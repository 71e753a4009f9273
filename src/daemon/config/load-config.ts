import { basename, isAbsolute, join } from 'node:path'
import { camelKeys } from '../../base/json.ts'
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
import { type Config, type ConfigFiles, type ConfigProblem, diskFiles } from './config.ts'
import {
  type ConfigFlags,
  type Environment,
  firstOf,
  readEnvironment,
  readOrReport,
  type StoredKeys,
} from './environment.ts'
import { renamedKeys, type Settings, settingsSchema } from './settings-schema.ts'
import { checkToml, nearestName, type TomlPath, type WrittenIndex } from './toml.ts'
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

/** One reading of a home's config: its sources, and the problems and warnings found so far. */
interface Reading {
  /** `familiar.toml`. */
  file: string
  settings: Settings
  index: WrittenIndex
  environment: Environment
  problems: ConfigProblem[]
  warnings: string[]
}

/**
 * Defaults, `familiar.toml`, `providers.d/*.toml`, the vault, `.env`, the environment and the command line, each overriding the
 * one before. Read-only. All or nothing: with one problem there is no config, and all problems are reported.
 */
export function loadConfig(source: {
  home: string
  env: Readonly<Record<string, string | undefined>>
  flags?: ConfigFlags
  files?: ConfigFiles
  /** Without the vault, providers whose key is there are called without one. */
  stored?: StoredKeys
}): LoadedConfig {
  const { env, flags = {}, files = diskFiles, stored = {} } = source
  const { environment: dotenv, config: file, providers: directory } = homePaths(source.home)
  const problems: ConfigProblem[] = []
  const warnings: string[] = []
  const environment = readEnvironment({ file: dotenv, files, env, flags, stored, problems, warnings })
  const reading = { file, ...readSettings(file, files, { problems, warnings }), environment, problems, warnings }
  const read = readProviders(reading, { directory, files })
  checkRoutes(reading, read)
  const config = toConfig(reading, read.providers)
  applyOverrides(reading, config, read)
  checkRemoteAccess(reading, config)

  if (problems.length === 0) return { ok: true, config, environment: environment.values(), warnings }
  const sorted = problems.toSorted((a, b) => {
    if (a.file !== b.file) return a.file < b.file ? -1 : 1
    return (a.line ?? 0) - (b.line ?? 0)
  })
  return { ok: false, problems: sorted }
}

/** Reads `familiar.toml`. Its mistakes are problems; the rest of it is used for further checks. */
export function readSettings(
  file: string,
  files: ConfigFiles,
  { problems, warnings }: { problems: ConfigProblem[]; warnings: string[] },
) {
  const text = readOrReport(files, file, problems) ?? ''
  const checked = checkToml({ file, text, schema: settingsSchema, renamed: renamedKeys })
  problems.push(...checked.problems)
  warnings.push(...checked.warnings)
  return { settings: checked.value ?? settingsSchema.parse({}), index: checked.index }
}

/** The config with keys instead of the names of their variables: pass those to the redactor before anything is logged. */
export function toConfig(reading: Reading, providers: ProviderSettings[]) {
  const { settings } = reading
  const { name, max_rounds: maxRounds, context } = settings.agent
  const embedding = readEmbedding(reading)
  return {
    providers,
    /** Each list contains existing `provider/model` ids: the first is tried first, the rest are its fallbacks. */
    routes: settings.routes,
    budget: camelKeys(settings.budget),
    agent: {
      name,
      maxRounds,
      context: { ...context, sources: { system: 'operational', ...context.sources } as typeof context.sources },
    },
    sessions: camelKeys(settings.sessions),
    subagents: camelKeys(settings.subagents),
    clientTools: camelKeys(settings.client_tools),
    compaction: camelKeys(settings.compaction),
    http: camelKeys(settings.http),
    /** The URL may contain a password: pass it to the redactor. */
    database: camelKeys(settings.database),
    /** Hosts of the owner's network that may be called. */
    egress: { allowedHosts: settings.egress.allowed_hosts.map(toAllowedHost) },
    log: settings.log,
    capabilities: camelKeys(settings.capabilities),
    assets: camelKeys(settings.assets),
    skills: settings.skills,
    memory: { ...settings.memory, embedding },
    /** By name, including the built-in ones. */
    plans: readPlans(settings.plans),
    /** The path of the secrets' key file, if the environment sets it. */
    keyFile: null as string | null,
    /** The owner's bearer token if the environment sets one; otherwise Familiar makes its own. */
    token: null as string | null,
    ...readTools(reading),
    ...readChannels(reading),
    telemetry: readTelemetry(reading),
    shared: readShared(reading),
  }
}

/** Resolves variables that a file names: the first one that is set; null, with a warning, if none is. */
function createResolve({ file, environment, warnings }: Pick<Reading, 'file' | 'environment' | 'warnings'>) {
  return (named: string | readonly string[] | undefined, consequence: string): string | null => {
    const variables = [named ?? []].flat()
    const value = firstOf(environment, variables)
    if (variables.length > 0 && value === undefined)
      warnings.push(`${file}: ${variables[0]} is not set, so ${consequence}`)
    return value ?? null
  }
}

function toAllowedHost(text: string): AllowedHost {
  const port = /:(\d+)$/.exec(text.replace(/^\[.*\]/, ''))?.[1]
  return port === undefined ? { host: text } : { host: text.slice(0, -port.length - 1), port: Number(port) }
}

/** Always available. */
const offlineModelId = 'offline/offline'

/** Reports every route to an unknown model. */
function checkRoutes({ file, settings, index, problems }: Reading, read: ReadProviders): void {
  const { sources, ...purposes } = settings.routes
  const targets: { path: TomlPath; ids: string[] }[] = [
    ...Object.entries(purposes).map(([name, ids]) => ({ path: ['routes', name], ids })),
    ...Object.entries(sources).map(([name, ids]) => ({ path: ['routes', 'sources', name], ids })),
    ...Object.entries(settings.plans).flatMap(([plan, { routes }]) =>
      Object.entries(routes).map(([name, ids]) => ({ path: ['plans', plan, 'routes', name], ids })),
    ),
  ]
  for (const { path, ids } of targets) {
    for (const [place, id] of ids.entries()) {
      const message = describeUnknownModel(id, read)
      if (message === undefined) continue
      const exact = index.find([...path, place]) ? [...path, place] : path
      problems.push({ file, line: index.lineOf(exact), key: index.keyOf(exact), message })
    }
  }
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
function applyOverrides(reading: Reading, config: Config, read: ReadProviders): void {
  const { environment, problems } = reading

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
  const { http, database, log, sandbox } = settingsSchema.shape
  override('FAMILIAR_HOST', (value) => {
    if (!http.safeParse({ host: value }).success) return 'must be a host name or address'
    config.http.host = value
  })
  override('FAMILIAR_DATABASE_URL', (value) => {
    // Not repeated here: it may contain a password.
    if (!database.safeParse({ url: value }).success) return 'must be an address such as postgres://user@host/database'
    config.database.url = value
  })
  override('FAMILIAR_KEY_FILE', (value) => {
    if (!isAbsolute(value))
      return `must be an absolute path, such as /mnt/familiar/key (found ${JSON.stringify(value)})`
    config.keyFile = value
  })
  override('FAMILIAR_LOG', (value) => {
    const checked = log.safeParse({ level: value })
    if (!checked.success) return `must be one of debug, info, warn, error (found ${JSON.stringify(value)})`
    config.log.level = checked.data.level
  })
  override('FAMILIAR_EMBEDDING', (value) => {
    // The others need more than their name.
    if (value !== 'local' && value !== 'off') return `must be local or off (found ${JSON.stringify(value)})`
    config.memory.embedding = { provider: value }
  })
  override('FAMILIAR_SANDBOX', (value) => {
    const checked = sandbox.safeParse({ driver: value })
    if (!checked.success) return `must be auto, embedded, container or off (found ${JSON.stringify(value)})`
    config.sandbox.driver = checked.data.driver
  })
  override('FAMILIAR_MODEL', (value) => {
    addNamedProvider(value, reading, read)
    const message = describeUnknownModel(value, read)
    if (message !== undefined) return message
    config.routes.primary = [value]
  })
  override('FAMILIAR_TOKEN', (value) => {
    // It is sent in a header, as one word.
    if (!/^[\x21-\x7e]{1,512}$/.test(value)) return 'must be one word of at most 512 plain characters'
    config.token = value
  })
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
function addNamedProvider(id: string, { environment, warnings }: Reading, read: ReadProviders) {
  const [name = '', ...rest] = id.split('/')
  const model = rest.join('/')
  const type = providerTypes.find((known) => known === name)
  const known = type && knownModels[type]
  if (!known || model === '' || read.broken.has(name) || read.providers.some((other) => other.name === name)) return
  const variables = usualKeyVariables[type] ?? []
  const apiKey = firstOf(environment, variables)
  if (variables.length > 0 && !apiKey) warnings.push(`${variables[0]} is not set, so ${name} is called without a key`)
  const settings = known[model] ?? Object.values(known).find((other) => other.model === model) ?? { model }
  read.providers.push({ name, type, ...(apiKey && { apiKey }), models: { [model]: settings, ...known } })
}

/** `[telegram]`, `[callback]` and `[voice]` with keys instead of their variables' names. */
function readChannels(reading: Reading) {
  const { telegram, callback, voice } = reading.settings
  const resolve = createResolve(reading)
  const token = telegram?.enabled ? resolve(telegram.token_env, 'Telegram stays off') : null
  const secret = callback ? resolve(callback.secret_env, 'no callback is made') : null
  const { provider, base_url, api_key_env, model = null } = voice.transcription
  const apiKey = resolve(api_key_env, 'speech is transcribed without a key')
  return {
    /** Null if it is not set up. */
    telegram:
      telegram && token !== null
        ? {
            token,
            allowedIds: telegram.allowed_ids,
            apiRoot: telegram.api_root.replace(/\/+$/, ''),
            voiceReplies: telegram.voice_replies,
            repeatUnknown: telegram.repeat_unknown,
          }
        : null,
    /** Null if there is none. */
    callback: callback && secret !== null ? { url: callback.url, secret, channels: callback.channels } : null,
    voice: { transcription: { provider, baseUrl: base_url ?? null, apiKey, model } },
  }
}

/** The `[memory.embedding]` table with its key instead of the variable's name. */
function readEmbedding(reading: Reading): EmbeddingSettings {
  const { api_key_env, ...embedding } = reading.settings.memory.embedding
  const apiKey = createResolve(reading)(api_key_env, `${embedding.provider} embeds without a key`)
  return { ...camelKeys(embedding), ...(apiKey !== null && { apiKey }) }
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

/** The requested provider files; all of them if `providers.load` names none. */
function readProviders(reading: Reading, { directory, files }: { directory: string; files: ConfigFiles }) {
  const { settings, index, problems } = reading
  const available = files
    .list(directory)
    .filter((name) => name.endsWith('.toml'))
    .map((name) => basename(name, '.toml'))
  const result: ReadProviders = { providers: [], broken: new Set() }
  for (const [place, name] of (settings.providers.load ?? available).entries()) {
    const file = join(directory, `${name}.toml`)
    if (!/^[a-z0-9][a-z0-9_-]*$/.test(name)) {
      problems.push({ file, line: 1, key: '', message: 'must have a name of lower-case letters, digits, - and _' })
      continue
    }
    if (result.providers.some((provider) => provider.name === name) || result.broken.has(name)) continue
    const text = available.includes(name) ? readOrReport(files, file, problems) : undefined
    const checked = text === undefined ? undefined : checkToml({ file, text, schema: providerSchema, advice })
    if (checked?.value && checked.problems.length === 0)
      result.providers.push(toProvider({ ...reading, file }, name, checked.value))
    else result.broken.add(name)
    problems.push(...(checked?.problems ?? []))
    if (!available.includes(name)) {
      const near = nearestName(name, available)
      const hint = near
        ? `; did you mean ${near}?`
        : `; there ${available.length === 0 ? 'is no file in it' : `are: ${available.join(', ')}`}`
      const line = index.lineOf(['providers', 'load', place])
      const message = `providers.d/${name}.toml does not exist${hint}`
      problems.push({ file: reading.file, line, key: 'providers.load', message })
    }
  }
  return result
}

function toProvider(
  reading: Pick<Reading, 'file' | 'environment' | 'warnings'>,
  name: string,
  provider: ProviderFile,
): ProviderSettings {
  const resolve = createResolve(reading)
  const variables = provider.api_key_env ?? usualKeyVariables[provider.type]
  const apiKey = resolve(variables, `${name} is called without a key`)
  const secrets: string[] = []
  type Value = string | number | boolean | { env: string }
  function resolved<T extends Value>(table: Record<string, T> | undefined, where: string) {
    const entries = Object.entries(table ?? {}).flatMap(([key, value]): [string, Exclude<Value, object>][] => {
      if (typeof value !== 'object') {
        if (typeof value === 'string' && /auth|key|token|secret|cookie/i.test(key)) secrets.push(value)
        return [[key, value]]
      }
      const found = resolve(value.env, `${name} is called without ${where}.${key}`)
      if (found === null) return []
      secrets.push(found)
      return [[key, found]]
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
    ...(apiKey !== null && { apiKey }),
    models: Object.fromEntries(Object.entries(provider.models).map(([key, model]) => [key, camelKeys(model)])),
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
function readShared({ file, settings, index, environment, problems }: Reading): SharedSettings | null {
  const { directory, s3 } = settings.shared
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

  const { endpoint, region, bucket, prefix, path_style: pathStyle, session_token_env: tokenVariable } = s3
  return {
    kind: 's3',
    s3: {
      endpoint,
      region,
      bucket,
      prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
      pathStyle,
      accessKeyId: resolved('access_key_env', s3.access_key_env),
      secretAccessKey: resolved('secret_key_env', s3.secret_key_env),
      sessionToken: tokenVariable === undefined ? undefined : resolved('session_token_env', tokenVariable),
    },
    cacheMegabytes: s3.cache_megabytes,
  }
}

/** `[telemetry]`, overridden by OpenTelemetry's standard variables. */
function readTelemetry(reading: Reading) {
  const { environment, problems, warnings } = reading
  const settings = reading.settings.telemetry
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
    /** The addresses; null to send nothing. */
    traces: target('traces'),
    metrics: target('metrics'),
    /** May contain keys: pass their values to the redactor. */
    headers: pairs('OTEL_EXPORTER_OTLP_HEADERS'),
    /** Attributes of this daemon for the collector. */
    resource: {
      ...pairs('OTEL_RESOURCE_ATTRIBUTES'),
      'service.name': value('OTEL_SERVICE_NAME') ?? settings.service_name,
    } as Record<string, string>,
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

/** `[plans.NAME]`, and the built-in ones. */
function readPlans(plans: Settings['plans']): Readonly<Record<string, Plan>> {
  const configured = Object.entries(plans).map(
    ([name, { tools, routes, budget, max_sessions, mode }]): [string, Plan] => [
      name,
      { name, tools, routes, budget: camelKeys(budget), maxSessions: max_sessions ?? null, mode: mode ?? null },
    ],
  )
  return withBuiltInPlans(Object.fromEntries(configured))
}

/** `[tools]`, `[sandbox]`, `[policy]` and `[mcp]` with keys instead of their variables' names. */
function readTools(reading: Reading) {
  const { tools, sandbox, policy, mcp } = reading.settings
  const resolve = createResolve(reading)
  const { web_search: search, tts, browser, ...plain } = tools

  function toServer(name: string, server: (typeof mcp.servers)[string]) {
    if ('command' in server) return server
    const { url, sampling, oauth_client_id: clientId } = server
    const oauth = clientId !== undefined && {
      clientId,
      clientSecret: resolve(server.oauth_client_secret_env, `the login at ${name} is made without it`),
      ...(server.oauth_grant === 'client_credentials' && {
        isOwnLogin: true as const,
        // In one line, a variable has \n in place of its line breaks.
        privateKey:
          resolve(server.oauth_private_key_env, `the login at ${name} fails`)?.replaceAll('\\n', '\n') ?? null,
      }),
    }
    const headers = Object.entries(server.header_env).flatMap(([header, variable]) => {
      const value = resolve(variable, `${name} is called without ${header}`)
      return value === null ? [] : [[header, value] as const]
    })
    const optional = { ...(sampling !== undefined && { sampling }), ...(oauth && { oauth }) }
    return { url, ...optional, headers: Object.fromEntries(headers) }
  }

  return {
    tools: {
      ...plain,
      /** Null if none is configured. */
      webSearch: search
        ? {
            provider: search.provider,
            apiKey: resolve(search.api_key_env, `${search.provider} is called without a key`),
            baseUrl: search.base_url ?? null,
          }
        : null,
      browser: { executable: browser.executable ?? null },
      tts: {
        provider: tts.provider,
        apiKey: resolve(tts.api_key_env, `${tts.provider} is called without a key`),
        voice: tts.voice ?? null,
      },
    },
    sandbox: {
      driver: sandbox.driver,
      containerSocket: sandbox.container_socket ?? null,
      pythonIndexUrl: sandbox.python_index_url ?? null,
      npmRegistryUrl: sandbox.npm_registry_url ?? null,
    },
    policy: camelKeys(policy),
    mcp: {
      servers: Object.fromEntries(Object.entries(mcp.servers).map(([name, server]) => [name, toServer(name, server)])),
    },
  }
}

const neededBits = 256

/** Remote access requires two settings: a flag, and an unguessable token. */
function checkRemoteAccess({ environment, file, index, problems }: Reading, config: Config): void {
  if (isLoopback(config.http.host)) return
  const variable = environment.get('FAMILIAR_HOST')
  const place = variable
    ? { file: variable.file, line: variable.line, key: variable.key }
    : { file, line: index.lineOf(['http', 'host']), key: 'http.host' }
  const ask = (what: string) =>
    problems.push({ ...place, message: `${config.http.host} is reachable from other machines; this requires ${what}` })
  if (!config.http.allowRemote) ask('allow_remote = true in [http] of familiar.toml')
  if (config.token === null || tokenBits(config.token) < neededBits) {
    const found = environment.get('FAMILIAR_TOKEN') ? 'FAMILIAR_TOKEN is too weak' : 'FAMILIAR_TOKEN is not set'
    ask(`a token of ${neededBits} bits, and ${found} (openssl rand -hex 32 makes one)`)
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}
