import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { setDotenvValue } from '../daemon/config/dotenv.ts'
import { setTomlValue, type TomlValue } from '../daemon/config/edit-toml.ts'
import type { HomePaths } from '../daemon/home-paths.ts'
import type { ModelSettings, ProviderType } from '../models/model-settings.ts'

export interface SetupAnswers {
  /** Null chooses the offline model. */
  provider: {
    name: string
    type: ProviderType
    baseUrl?: string | undefined
    /** The variable that holds the key. */
    keyVariable?: string | undefined
    /** Written into `.env`; undefined where the key is in the environment already, or none is needed. */
    newKey?: string | undefined
    model: ModelSettings
  } | null
  perDayUsd: number
}

export interface DraftFile {
  path: string
  text: string
  /** What is shown of it before it is written: never a key. */
  shown: string
}

export type Draft = { ok: true; files: DraftFile[] } | { ok: false; message: string }

/** What setup would write. Pure: reads through `read` and changes nothing. */
export function draftSetup(
  answers: SetupAnswers,
  current: { paths: HomePaths; read(path: string): string | undefined; load: readonly string[] | undefined },
): Draft {
  const { paths, read, load } = current
  const { provider } = answers
  const files: DraftFile[] = []

  if (provider) {
    const path = join(paths.providers, `${provider.name}.toml`)
    const text = providerText(provider, read(path))
    if (text === undefined) return { ok: false, message: `${path} could not be changed without touching other keys.` }
    files.push({ path, text, shown: text.trimEnd() })
  }

  const changes: [string[], TomlValue][] = [
    [['routes', 'primary'], provider ? `${provider.name}/main` : 'offline/offline'],
    [['budget', 'per_day_usd'], answers.perDayUsd],
  ]
  if (provider && load && !load.includes(provider.name))
    changes.push([
      ['providers', 'load'],
      [...load, provider.name],
    ])
  const config = setAll(read(paths.config) ?? '', changes)
  const shown = changes.map(([path, value]) => `${path.join('.')} = ${JSON.stringify(value)}`).join('\n')
  if (config === undefined)
    return {
      ok: false,
      message: `${paths.config} could not be changed without touching other keys. Set there:\n${shown}`,
    }
  files.push({ path: paths.config, text: config, shown })

  if (provider?.newKey !== undefined && provider.keyVariable !== undefined) {
    const text = setDotenvValue(read(paths.environment) ?? '', provider.keyVariable, provider.newKey)
    files.push({ path: paths.environment, text, shown: `${provider.keyVariable}=••••••••` })
  }
  return { ok: true, files }
}

function providerText(
  provider: NonNullable<SetupAnswers['provider']>,
  existing: string | undefined,
): string | undefined {
  const { type, baseUrl, keyVariable, model } = provider
  const top = { type, base_url: baseUrl, api_key_env: keyVariable }
  const main = {
    model: model.model,
    max_tokens: model.maxTokens,
    max_context_tokens: model.maxContextTokens,
    cost_per_mtok: model.costPerMtok ? [...model.costPerMtok] : undefined,
    supports_vision: model.supportsVision,
  }
  if (existing === undefined) return `${stringify(defined({ ...top, models: { main: defined(main) } })).trimEnd()}\n`
  return setAll(existing, [
    ...Object.entries(defined(top)).map(([key, value]): [string[], TomlValue] => [[key], value]),
    ...Object.entries(defined(main)).map(([key, value]): [string[], TomlValue] => [['models', 'main', key], value]),
  ])
}

function setAll(text: string, changes: readonly [string[], TomlValue][]): string | undefined {
  return changes.reduce<string | undefined>(
    (edited, [path, value]) => (edited === undefined ? undefined : setTomlValue(edited, path, value)),
    text,
  )
}

function defined<T extends object>(value: T): { [Key in keyof T]: NonNullable<T[Key]> } {
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]: NonNullable<T[Key]> }
}
