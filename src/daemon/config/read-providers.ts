import { basename, join } from 'node:path'
import type { ProviderSettings } from '../../models/model-settings.ts'
import { camelKeys } from './camel-keys.ts'
import { checkToml } from './check-toml.ts'
import type { ConfigFiles } from './config-files.ts'
import type { ConfigProblem } from './config-problem.ts'
import { type Environment, firstOf, readOrReport } from './environment.ts'
import { nearestName } from './nearest-name.ts'
import { type ProviderFile, providerSchema, usualKeyVariables } from './provider-schema.ts'

const advice = {
  api_key:
    'is refused: keys do not belong into this file. Put it into .env (NAME=value) and name it here: api_key_env = "NAME"',
}

export interface ReadProviders {
  providers: ProviderSettings[]
  /** Providers whose file has problems: what they hold is not known, so nothing is said of routes to them. */
  broken: Set<string>
}

/** The provider files that are asked for; all of them where `load` names none. */
export function readProviders(source: {
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
      problems.push({ file, line: 1, key: '', message: 'must have a name of small letters, digits, - and _' })
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
  return {
    name,
    type: provider.type,
    ...(provider.base_url !== undefined && { baseUrl: provider.base_url }),
    ...(apiKey !== undefined && { apiKey }),
    models: Object.fromEntries(Object.entries(provider.models).map(([key, model]) => [key, camelKeys(model)])),
  }
}
