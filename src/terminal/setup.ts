import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { parse, stringify } from 'smol-toml'
import { writeFileAtomically } from '../base/files.ts'
import { toDisplayText } from '../base/text.ts'
import { type ConfigFiles, diskFiles, formatProblems } from '../daemon/config/config.ts'
import { setDotenvValue } from '../daemon/config/environment.ts'
import { isLoopback, loadConfig } from '../daemon/config/load-config.ts'
import type { Settings } from '../daemon/config/settings-schema.ts'
import { setTomlValue, type TomlValue } from '../daemon/config/toml.ts'
import { openHome } from '../daemon/home.ts'
import { type HomePaths, homePaths } from '../daemon/home-paths.ts'
import type { ListedModels } from '../models/discover.ts'
import {
  anthropicModels,
  googleModels,
  type ModelSettings,
  openaiModels,
  type ProviderSettings,
  type ProviderType,
} from '../models/provider-connection.ts'
import type { GuardedFetch } from '../security/network/guarded-fetch.ts'
import { type CommandHandler, type ExitCode, exitCodes } from './command.ts'
import { describeReload, reloadDaemon } from './commands/daemon.ts'
import type { Output } from './output.ts'
import { openTerminalPrompts, type SetupPrompts } from './setup-prompts.ts'

export const setup: CommandHandler<object> = ({ homePath, env, output, stdin, stdout }) =>
  runSetup({
    home: homePath,
    env,
    output,
    isInteractive: stdin.isTTY === true && stdout.isTTY === true,
    now: Date.now,
  })

interface SetupAnswers {
  /** Null chooses the offline model. */
  provider: {
    name: string
    type: ProviderType
    baseUrl?: string | undefined
    /** The variable that holds the key. */
    keyVariable?: string | undefined
    /** Written into `.env`; undefined if the key is in the environment already, or none is needed. */
    newKey?: string | undefined
    model: ModelSettings
  } | null
  perDayUsd: number
}

type Provider = NonNullable<SetupAnswers['provider']>

interface DraftFile {
  path: string
  text: string
  /** The text to show before it is written, without keys. */
  shown: string
}

type Draft = { ok: true; files: DraftFile[] } | { ok: false; message: string }

/** The files that setup would write. Changes nothing. */
function draftSetup(answers: SetupAnswers, paths: HomePaths): Draft {
  const { read } = diskFiles
  const { provider } = answers
  // Without a list every provider file counts: naming only the new one would switch the others off.
  const load = (parse(read(paths.config) ?? '') as Partial<Settings>).providers?.load
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
  if (provider && load && !load.includes(provider.name)) {
    const names: TomlValue = [...load, provider.name]
    changes.push([['providers', 'load'], names])
  }
  const config = setAll(read(paths.config) ?? '', changes)
  const shown = changes.map(([path, value]) => `${path.join('.')} = ${JSON.stringify(value)}`).join('\n')
  if (config === undefined) {
    const message = `${paths.config} could not be changed without touching other keys. Set there:\n${shown}`
    return { ok: false, message }
  }
  files.push({ path: paths.config, text: config, shown })

  if (provider?.newKey !== undefined && provider.keyVariable !== undefined) {
    const text = setDotenvValue(read(paths.environment) ?? '', provider.keyVariable, provider.newKey)
    files.push({ path: paths.environment, text, shown: `${provider.keyVariable}=••••••••` })
  }
  return { ok: true, files }
}

function providerText(provider: Provider, existing: string | undefined): string | undefined {
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

interface Offer {
  label: string
  hint: string
  name: string
  type: ProviderType
  baseUrl?: string | undefined
  keyVariable?: string | undefined
  /** Found in the environment: there is nothing to ask for. */
  hasKey?: boolean
  needsKey?: boolean
  models?: Record<string, ModelSettings>
}

function offerWithKey(label: string, type: ProviderType, keyVariable: string, models: Offer['models'] = {}): Offer {
  return { label, hint: 'needs a key', name: type, type, keyVariable, needsKey: true, models }
}

const offers: readonly Offer[] = [
  offerWithKey('Anthropic', 'anthropic', 'ANTHROPIC_API_KEY', anthropicModels),
  offerWithKey('OpenAI', 'openai', 'OPENAI_API_KEY', openaiModels),
  offerWithKey('Google', 'google', 'GEMINI_API_KEY', googleModels),
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

/** Asks a provider before anything is saved. Neither throws. */
export interface ProviderTrial {
  list(provider: Omit<ProviderSettings, 'models'>): Promise<ListedModels>
  /** Undefined if the model answered; otherwise why it did not. */
  send(provider: ProviderSettings): Promise<string | undefined>
}

interface KnownEnvironment {
  /** With `.env` under it. */
  environment: Readonly<Record<string, string | undefined>>
  env: Readonly<Record<string, string | undefined>>
  trial: ProviderTrial
}

/** Undefined when the user left. */
async function askForSetup(
  prompts: SetupPrompts,
  known: KnownEnvironment & { found: readonly ProviderSettings[]; perDayUsd: number },
): Promise<SetupAnswers | undefined> {
  const all = [...known.found.map((provider) => toOffer(provider, known.environment)), ...offers]
  const chosen = await prompts.choose({
    message: 'Which model should answer?',
    options: [
      ...all.map(({ label, hint }, index) => ({ value: String(index), label, hint })),
      {
        value: 'offline',
        label: 'None for now',
        hint: 'the offline model remembers and recalls, but cannot hold a conversation',
      },
    ],
  })
  if (chosen === undefined) return undefined
  const offer = all[Number(chosen)]
  const provider = offer ? await askForProvider(prompts, offer, known) : null
  if (provider === undefined) return undefined
  if (provider && !(await isWanted(prompts, provider, known))) return undefined

  const budget = await prompts.ask({
    message: 'Spending limit per day, in dollars?',
    initial: String(known.perDayUsd),
    validate: (text) => (isAmount(text) ? undefined : 'A number, such as 5 or 2.50'),
  })
  return budget === undefined ? undefined : { provider, perDayUsd: Number(budget) }
}

async function askForProvider(
  prompts: SetupPrompts,
  offer: Offer,
  { env, environment, trial }: KnownEnvironment,
): Promise<Provider | undefined> {
  let { name, baseUrl, keyVariable } = offer
  if (offer.baseUrl !== undefined && !offer.hasKey) {
    baseUrl = await prompts.ask({
      message: 'Server URL?',
      initial: offer.baseUrl || 'http://127.0.0.1:8080/v1',
      validate: checkAddress,
    })
    if (baseUrl === undefined) return undefined
  }
  if (offer.baseUrl === '') {
    const named = await prompts.ask({ message: 'Name for this provider?', initial: name, validate: checkName })
    if (named === undefined) return undefined
    name = named
    keyVariable = `${name.toUpperCase().replaceAll('-', '_')}_API_KEY`
  }

  let newKey: string | undefined
  if (keyVariable !== undefined && !offer.hasKey) {
    newKey = await prompts.askSecret({
      message: offer.needsKey ? 'API key (stored in .env, readable only by you)' : 'API key, if it needs one',
      validate: (text) => checkKey(text, offer.needsKey === true),
    })
    if (newKey === undefined) return undefined
    if (newKey === '') newKey = keyVariable = undefined
    // The environment comes before `.env`: under a name that is taken there the new key would never be read.
    else if (env[keyVariable]) keyVariable = `FAMILIAR_${name.toUpperCase().replaceAll('-', '_')}_KEY`
  }

  const apiKey = newKey ?? (keyVariable && environment[keyVariable])
  const listed = await prompts.during(
    'Fetching the list of models',
    trial.list({ name, type: offer.type, baseUrl: baseUrl || undefined, ...(apiKey && { apiKey }) }),
  )
  if (!listed.ok) prompts.show('Unexpected response from the provider', toDisplayText(listed.message))
  const model = await askForModel(prompts, {
    models: offer.models ?? {},
    baseUrl,
    listed: listed.ok ? listed.models.map(toDisplayText) : [],
  })
  return model && { name, type: offer.type, baseUrl: baseUrl || undefined, keyVariable, newKey, model }
}

/** Sends one short message. If that fails, the user decides whether to continue. */
async function isWanted(prompts: SetupPrompts, provider: Provider, known: KnownEnvironment): Promise<boolean> {
  const { name, type, baseUrl, keyVariable, newKey, model } = provider
  const apiKey = newKey ?? (keyVariable && known.environment[keyVariable])
  const settings = { name, type, baseUrl, models: { main: model }, ...(apiKey && { apiKey }) }
  const problem = await prompts.during('Sending a test message', known.trial.send(settings))
  if (problem === undefined) return true
  prompts.show('The test message failed', toDisplayText(problem))
  return (await prompts.confirm('Save it anyway?')) === true
}

const another = 'another'

async function askForModel(
  prompts: SetupPrompts,
  known: { models: Record<string, ModelSettings>; baseUrl: string | undefined; listed: readonly string[] },
): Promise<ModelSettings | undefined> {
  const { models, baseUrl, listed } = known
  const usual = models.main?.model
  const names = [...new Set([...(usual && listed.includes(usual) ? [usual] : []), ...listed])]
  const options = [...names, another].map((value) => ({ value, label: value === another ? 'Another one …' : value }))
  const chosen = names.length > 0 ? await prompts.choose({ message: 'Model of this provider?', options }) : another
  if (chosen === undefined) return undefined
  const model =
    chosen === another
      ? await prompts.ask({
          message: 'Model of this provider?',
          initial: toDisplayText(usual ?? ''),
          validate: (text) => (text.trim() === '' ? 'Enter the name that the provider uses' : undefined),
        })
      : chosen
  if (model === undefined) return undefined
  const settings = Object.values(models).find((other) => other.model === model) ?? { model }
  if (settings.costPerMtok) return settings
  if (baseUrl && isLoopback(new URL(baseUrl).hostname)) return { ...settings, costPerMtok: [0, 0] }

  const prices = await prompts.ask({
    message:
      'Price per million input and output tokens in dollars (example: 3, 15; leave empty if unknown, then budgets cannot include it)',
    validate: (text) => (text.trim() === '' || toPrices(text) ? undefined : 'Two numbers, such as 3, 15'),
  })
  if (prices === undefined) return undefined
  const costPerMtok = toPrices(prices)
  return costPerMtok ? { ...settings, costPerMtok } : settings
}

function toOffer(provider: ProviderSettings, environment: Readonly<Record<string, string | undefined>>): Offer {
  const { name, type, baseUrl, apiKey, models } = provider
  const keyVariable = apiKey && Object.keys(environment).find((variable) => environment[variable]?.trim() === apiKey)
  const label = toDisplayText(`${name}: ${models.main?.model ?? ''}`)
  const hint = keyVariable ? `found: ${keyVariable}` : 'found: it is running'
  return { label, hint, name, type, baseUrl, keyVariable: keyVariable || undefined, hasKey: true, models }
}

/** Two addresses in a row parse as one URL, which is never meant. */
function checkAddress(text: string): string | undefined {
  const url = URL.parse(text.trim())
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && !/\s|:\/\/.*:\/\//.test(text.trim())
  return isAddress ? undefined : 'Enter an address such as http://127.0.0.1:8080/v1'
}

function checkName(text: string): string | undefined {
  return /^[a-z0-9][a-z0-9_-]*$/.test(text.trim()) ? undefined : 'Lowercase letters, digits, - and _'
}

function checkKey(text: string, isNeeded: boolean): string | undefined {
  if (text.trim() === '') return isNeeded ? 'It needs one' : undefined
  return /^[\x21-\x7e]+$/.test(text.trim()) ? undefined : 'A key is one word without special characters'
}

function isAmount(text: string): boolean {
  return /^\d+(?:\.\d+)?$/.test(text.trim())
}

function toPrices(text: string): number[] | undefined {
  const parts = text.split(',')
  return parts.length >= 2 && parts.length <= 4 && parts.every(isAmount) ? parts.map(Number) : undefined
}

/** A local server may have to load its model first. */
const trialPatienceMs = 60_000

interface SetupOptions {
  home: string
  env: Readonly<Record<string, string | undefined>>
  output: Output
  /** Whether there is a terminal to ask on. */
  isInteractive: boolean
  now: () => number
  prompts?: SetupPrompts
  /** Keys and servers that are there already. */
  discover?: (environment: Record<string, string | undefined>) => Promise<ProviderSettings[]>
  /** How a provider is tried before it is saved. */
  trial?: ProviderTrial
}

/**
 * The wizard: asks for a model and a budget, shows the changes, and writes them after a confirmation. Never required.
 */
export async function runSetup(options: SetupOptions): Promise<ExitCode> {
  const { home, env, output, now } = options
  const paths = homePaths(home)
  if (!options.isInteractive) {
    const hint = `Write ${paths.config} and ${paths.providers}/NAME.toml yourself, or set a key such as ANTHROPIC_API_KEY.`
    return output.fail('Setup asks questions and needs a terminal.', hint, exitCodes.usage)
  }
  const loaded = loadConfig({ home, env })
  if (!loaded.ok) {
    for (const line of formatProblems(loaded.problems, home)) output.note(line)
    const hint = 'Fix these first. Setup does not overwrite existing settings.'
    return output.fail('The configuration has errors.', hint, exitCodes.failed)
  }

  const prompts = options.prompts ?? (await openTerminalPrompts())
  prompts.begin('Familiar setup')
  const found = await (options.discover ?? discoverHere)(loaded.environment)
  const { perDayUsd } = loaded.config.budget
  const trial = options.trial ?? trialHere
  const answers = await askForSetup(prompts, { found, env, environment: loaded.environment, perDayUsd, trial })
  if (!answers) return leave(prompts)

  const draft = draftSetup(answers, paths)
  if (!draft.ok) return output.fail(draft.message, undefined, exitCodes.failed)
  const checked = loadConfig({ home, env, files: withDrafts(draft.files) })
  if (!checked.ok) {
    for (const line of formatProblems(checked.problems, home)) output.note(line)
    return output.fail('The configuration would have problems, so nothing was written.', undefined, exitCodes.failed)
  }

  for (const file of draft.files) prompts.show(relative(paths.root, file.path), file.shown)
  if (!(await prompts.confirm(`Write this to ${paths.root}?`))) return leave(prompts)

  const opened = await openHome(home)
  if (!opened.ok) return output.fail(opened.message, opened.hint, exitCodes.failed)
  for (const file of draft.files) {
    if (existsSync(file.path) && file.path !== paths.environment)
      await copyFile(file.path, backupName(file.path, now()))
    await writeFileAtomically(file.path, file.text)
  }
  prompts.end(await apply(options))
  return exitCodes.fine
}

/** A running daemon applies the change immediately. */
async function apply({ home, output: { commandLine } }: SetupOptions): Promise<string> {
  try {
    const reply = await reloadDaemon({ homePath: home })
    if (reply === undefined) return `Done. Start Familiar: ${commandLine('start')}`
    if (reply.ok) return ['Done.', ...describeReload(reply)].join(' ')
    return `Written, but the running Familiar found problems: ${reply.problems.join('; ')}`
  } catch {
    return `Done. To apply it: ${commandLine('reload')}`
  }
}

function leave(prompts: SetupPrompts): ExitCode {
  prompts.end('Nothing was written.')
  return exitCodes.interrupted
}

async function discoverHere(environment: Record<string, string | undefined>): Promise<ProviderSettings[]> {
  const { discoverProviders, localServers } = await import('../models/discover.ts')
  const { createGuardedFetch } = await import('../security/network/guarded-fetch.ts')
  const fetch = createGuardedFetch({ allowedHosts: localServers })
  try {
    return await discoverProviders({ env: environment, fetch })
  } finally {
    await fetch.close()
  }
}

const trialHere: ProviderTrial = {
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

/** The files as they would be. */
function withDrafts(drafts: readonly DraftFile[]): ConfigFiles {
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

/** Beside the file: `familiar.toml.2026-11-15T10-00-00.bak`. */
function backupName(path: string, now: number): string {
  return `${path}.${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}.bak`
}
