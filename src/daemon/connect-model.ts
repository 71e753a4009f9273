import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { parse, stringify } from 'smol-toml'
import { writeFileAtomically } from '../base/files.ts'
import type { ListedModels } from '../models/discover.ts'
import {
  anthropicModels,
  googleModels,
  type ModelSettings,
  openaiModels,
  openrouterModels,
  type ProviderSettings,
  type ProviderType,
} from '../models/provider-connection.ts'
import type { GuardedFetch } from '../security/network/guarded-fetch.ts'
import { type ConfigFiles, diskFiles } from './config/config.ts'
import { setDotenvValue } from './config/environment.ts'
import type { Settings } from './config/settings-schema.ts'
import { setTomlValue, type TomlValue } from './config/toml.ts'
import type { HomePaths } from './home-paths.ts'

/** The shared part of `familiar setup` and the page: the providers to choose from, how one is tried, and the files. */

/** The owner of keys in the vault that stand for variables of the environment. */
export const configSecrets = 'config'

/** A provider that can be connected. */
export interface Offer {
  label: string
  hint: string
  name: string
  type: ProviderType
  /** Empty: the user gives the address. */
  baseUrl?: string | undefined
  keyVariable?: string | undefined
  needsKey?: boolean
  /** The web page where keys are made. */
  keyPage?: string
  models?: Record<string, ModelSettings>
}

type WithKey = Pick<Offer, 'label' | 'type' | 'name' | 'baseUrl' | 'keyPage' | 'models'>

function offerWithKey(keyVariable: string, offer: WithKey): Offer {
  return { ...offer, hint: 'needs a key', keyVariable, needsKey: true }
}

export const offers: readonly Offer[] = [
  offerWithKey('ANTHROPIC_API_KEY', {
    label: 'Anthropic',
    name: 'anthropic',
    type: 'anthropic',
    keyPage: 'https://console.anthropic.com/settings/keys',
    models: anthropicModels,
  }),
  offerWithKey('OPENAI_API_KEY', {
    label: 'OpenAI',
    name: 'openai',
    type: 'openai',
    keyPage: 'https://platform.openai.com/api-keys',
    models: openaiModels,
  }),
  offerWithKey('GEMINI_API_KEY', {
    label: 'Google',
    name: 'google',
    type: 'google',
    keyPage: 'https://aistudio.google.com/apikey',
    models: googleModels,
  }),
  offerWithKey('OPENROUTER_API_KEY', {
    label: 'OpenRouter',
    name: 'openrouter',
    type: 'openai-compatible',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyPage: 'https://openrouter.ai/keys',
    models: openrouterModels,
  }),
  {
    label: 'Ollama',
    hint: 'on this machine or another',
    name: 'ollama',
    type: 'ollama',
    baseUrl: 'http://127.0.0.1:11434',
  },
  {
    label: 'Another server',
    hint: 'anything that speaks the OpenAI protocol',
    name: 'local',
    type: 'openai-compatible',
    baseUrl: '',
  },
]

/** A provider and one of its models, to be written into the home. */
export interface ModelConnection {
  name: string
  type: ProviderType
  baseUrl?: string | undefined
  /** The variable that holds the key. */
  keyVariable?: string | undefined
  /** Written into `.env`; undefined if the key is elsewhere, or none is needed. */
  newKey?: string | undefined
  model: ModelSettings
  /** The name of its table in the provider file. Default: main. */
  modelName?: string | undefined
}

export type SettingChange = [path: string[], value: TomlValue]

interface DraftFile {
  path: string
  text: string
  /** The text to show before it is written, without keys. */
  shown: string
}

type Draft = { ok: true; files: DraftFile[] } | { ok: false; message: string }

/** The files that would be written: the provider's, `familiar.toml` with further changes, and `.env`. Changes nothing. */
export function draftConnection(
  provider: ModelConnection | null,
  further: readonly SettingChange[],
  paths: HomePaths,
): Draft {
  const { read } = diskFiles
  // Without a list every provider file counts: naming only the new one would switch the others off.
  const load = (parse(read(paths.config) ?? '') as Partial<Settings>).providers?.load
  const files: DraftFile[] = []

  if (provider) {
    const path = providerPath(provider.name, paths)
    const text = providerText(provider, read(path))
    if (text === undefined) return { ok: false, message: `${path} could not be changed without touching other keys.` }
    files.push({ path, text, shown: text.trimEnd() })
  }

  const changes = [...further]
  if (provider && load && !load.includes(provider.name)) {
    changes.push([
      ['providers', 'load'],
      [...load, provider.name],
    ])
  }
  const config = setAll(read(paths.config) ?? '', changes)
  const shown = changes.map(([path, value]) => `${path.join('.')} = ${JSON.stringify(value)}`).join('\n')
  if (config === undefined) {
    const message = `${paths.config} could not be changed without touching other keys. Set there:\n${shown}`
    return { ok: false, message }
  }
  if (changes.length > 0) files.push({ path: paths.config, text: config, shown })

  if (provider?.newKey !== undefined && provider.keyVariable !== undefined) {
    const text = setDotenvValue(read(paths.environment) ?? '', provider.keyVariable, provider.newKey)
    files.push({ path: paths.environment, text, shown: `${provider.keyVariable}=••••••••` })
  }
  return { ok: true, files }
}

export function providerPath(name: string, paths: HomePaths): string {
  return `${paths.providers}/${name}.toml`
}

function providerText(provider: ModelConnection, existing: string | undefined): string | undefined {
  const { type, baseUrl, keyVariable, model, modelName = 'main' } = provider
  const top = { type, base_url: baseUrl, api_key_env: keyVariable }
  const main = {
    model: model.model,
    max_tokens: model.maxTokens,
    max_context_tokens: model.maxContextTokens,
    cost_per_mtok: model.costPerMtok ? [...model.costPerMtok] : undefined,
    supports_vision: model.supportsVision,
  }
  if (existing === undefined) {
    return `${stringify(defined({ ...top, models: { [modelName]: defined(main) } })).trimEnd()}\n`
  }
  return setAll(existing, [
    ...Object.entries(defined(top)).map(([key, value]): SettingChange => [[key], value]),
    ...Object.entries(defined(main)).map(([key, value]): SettingChange => [['models', modelName, key], value]),
  ])
}

function setAll(text: string, changes: readonly SettingChange[]): string | undefined {
  return changes.reduce<string | undefined>(
    (edited, [path, value]) => (edited === undefined ? undefined : setTomlValue(edited, path, value)),
    text,
  )
}

function defined<T extends object>(value: T): { [Key in keyof T]: NonNullable<T[Key]> } {
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]: NonNullable<T[Key]> }
}

/** The files as they would be. */
export function withDrafts(drafts: readonly Pick<DraftFile, 'path' | 'text'>[]): ConfigFiles {
  const textOf = (path: string) => drafts.find((draft) => draft.path === path)?.text
  return {
    ...diskFiles,
    read: (path) => textOf(path) ?? diskFiles.read(path),
    list(directory) {
      const drafted = drafts.filter((draft) => draft.path.startsWith(`${directory}/`))
      const names = drafted.map((draft) => relative(directory, draft.path))
      return [...new Set([...diskFiles.list(directory), ...names])].sort()
    },
  }
}

/** Writes them, with a copy beside each file that is replaced. */
export async function writeDrafts(files: readonly DraftFile[], paths: HomePaths, now: number): Promise<void> {
  for (const file of files) {
    if (existsSync(file.path) && file.path !== paths.environment) await copyFile(file.path, backupName(file.path, now))
    await writeFileAtomically(file.path, file.text)
  }
}

/** Beside the file: `familiar.toml.2026-11-15T10-00-00.bak`. */
function backupName(path: string, now: number): string {
  return `${path}.${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}.bak`
}

/** Two addresses in a row parse as one URL, which is never meant. */
export function checkAddress(text: string): string | undefined {
  const url = URL.parse(text.trim())
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && !/\s|:\/\/.*:\/\//.test(text.trim())
  return isAddress && url.username === '' && url.password === ''
    ? undefined
    : 'Enter an address such as http://127.0.0.1:8080/v1'
}

export function checkName(text: string): string | undefined {
  return /^[a-z0-9][a-z0-9_-]*$/.test(text.trim()) ? undefined : 'Lowercase letters, digits, - and _'
}

export function checkKey(text: string, isNeeded: boolean): string | undefined {
  if (text.trim() === '') return isNeeded ? 'It needs one' : undefined
  return /^[\x21-\x7e]+$/.test(text.trim()) ? undefined : 'A key is one word without special characters'
}

/** The variable of a provider's key. */
export function usualVariable(name: string): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_API_KEY`
}

/** For a new key: the environment comes first, so that under a name that is taken there it would never be read. */
export function freeVariable(variable: string, name: string, isTaken: boolean): string {
  return isTaken ? `FAMILIAR_${name.toUpperCase().replaceAll('-', '_')}_KEY` : variable
}

/** Asks a provider before anything is saved. Neither throws. */
export interface ProviderTrial {
  list(provider: Omit<ProviderSettings, 'models'>): Promise<ListedModels>
  /** Undefined if the model answered; otherwise why it did not. */
  send(provider: ProviderSettings): Promise<string | undefined>
}

/** A local server may have to load its model first. */
const trialPatienceMs = 60_000

export const trialHere: ProviderTrial = {
  list: (provider) =>
    withProviderFetch({ ...provider, models: {} }, (trial, options) => trial.listServerModels(provider, options)),
  send: (provider) => withProviderFetch(provider, (trial, options) => trial.tryModel(provider, options)),
}

/** With the guarded fetch, which reaches the provider's own address and no other one of this network. */
async function withProviderFetch<T>(
  provider: ProviderSettings,
  work: (trial: Discovery, options: { fetch: GuardedFetch; signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const { createGuardedFetch } = await import('../security/network/guarded-fetch.ts')
  const { providerHosts } = await import('../models/models-from-config.ts')
  const fetch = createGuardedFetch({ allowedHosts: providerHosts([provider]), streaming: true })
  try {
    const options = { fetch, signal: AbortSignal.timeout(trialPatienceMs) }
    return await work(await import('../models/discover.ts'), options)
  } finally {
    await fetch.close()
  }
}

type Discovery = typeof import('../models/discover.ts')

/** Providers with a key in the environment, and model servers that answer on this machine. */
export async function discoverHere(environment: Record<string, string | undefined>): Promise<ProviderSettings[]> {
  const { discoverProviders, localServers } = await import('../models/discover.ts')
  const { createGuardedFetch } = await import('../security/network/guarded-fetch.ts')
  const fetch = createGuardedFetch({ allowedHosts: localServers })
  try {
    return await discoverProviders({ env: environment, fetch })
  } finally {
    await fetch.close()
  }
}
