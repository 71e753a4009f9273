import { isAbsolute } from 'node:path'
import { anthropicModels, googleModels, openaiModels } from '../../models/known-models.ts'
import { type ModelSettings, type ProviderType, providerTypes } from '../../models/model-settings.ts'
import { describeUnknownModel } from './check-routes.ts'
import type { Config } from './config.ts'
import type { ConfigProblem } from './config-problem.ts'
import { type Environment, firstOf } from './environment.ts'
import { usualKeyVariables } from './provider-schema.ts'
import type { ReadProviders } from './read-providers.ts'
import { settingsSchema } from './settings-schema.ts'

/** Lays the variables of the environment over the config; each that does not fit is a problem. */
export function applyOverrides(source: {
  config: Config
  environment: Environment
  /** Its providers are those of the config: one that is added here is in both. */
  read: ReadProviders
  warnings: string[]
}): ConfigProblem[] {
  const { config, environment } = source
  const problems: ConfigProblem[] = []

  /** Hands the variable to `apply`, which answers what is wrong with it. */
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
    // Not repeated here: it may hold a password.
    if (!checked.success) return 'must be an address such as postgres://user@host/database'
    config.database.url = value
  })
  override('FAMILIAR_KEY_FILE', (value) => {
    if (!isAbsolute(value)) return `must be a whole path, such as /mnt/familiar/key (found ${JSON.stringify(value)})`
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
    // It has to travel in a header, as one word.
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
 * `FAMILIAR_MODEL=openai/gpt-x` needs no file: a provider that no file describes and whose name is a type is taken to be
 * that type, with its usual key and address.
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
