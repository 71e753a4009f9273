import { relative } from 'node:path'
import { toDisplayText } from '../base/text.ts'
import { formatProblems } from '../daemon/config/config.ts'
import { isLoopback, loadConfig } from '../daemon/config/load-config.ts'
import {
  checkAddress,
  checkKey,
  checkName,
  discoverHere,
  draftConnection,
  freeVariable,
  type ModelConnection,
  type Offer,
  offers,
  type ProviderTrial,
  type SettingChange,
  trialHere,
  usualVariable,
  withDrafts,
  writeDrafts,
} from '../daemon/connect-model.ts'
import { openHome } from '../daemon/home.ts'
import { homePaths } from '../daemon/home-paths.ts'
import type { ModelSettings, ProviderSettings } from '../models/provider-connection.ts'
import { type CommandHandler, type ExitCode, exitCodes } from './command.ts'
import { describeReload, reloadDaemon } from './commands/daemon.ts'
import type { Output } from './output.ts'
import { openTerminalPrompts, type SetupPrompts } from './setup-prompts.ts'

export const setupHandler: CommandHandler<object> = ({ homePath, env, output, stdin, stdout }) =>
  runSetup({
    home: homePath,
    env,
    output,
    isInteractive: stdin.isTTY === true && stdout.isTTY === true,
    now: Date.now,
  })

interface SetupAnswers {
  /** Null chooses the offline model. */
  provider: ModelConnection | null
  perDayUsd: number
}

/** An offer, or a provider that was found. */
interface Choice extends Offer {
  /** Found in the environment: there is nothing to ask for. */
  hasKey?: boolean
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
  const all: Choice[] = [...known.found.map((provider) => toChoice(provider, known.environment)), ...offers]
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
  offer: Choice,
  { env, environment, trial }: KnownEnvironment,
): Promise<ModelConnection | undefined> {
  let { name, baseUrl, keyVariable } = offer
  if (offer.baseUrl !== undefined && !offer.hasKey && !offer.needsKey) {
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
    keyVariable = usualVariable(name)
  }

  let newKey: string | undefined
  if (keyVariable !== undefined && !offer.hasKey) {
    newKey = await prompts.askSecret({
      message: offer.needsKey ? 'API key (stored in .env, readable only by you)' : 'API key, if it needs one',
      validate: (text) => checkKey(text, offer.needsKey === true),
    })
    if (newKey === undefined) return undefined
    if (newKey === '') newKey = keyVariable = undefined
    else keyVariable = freeVariable(keyVariable, name, Boolean(env[keyVariable]))
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
async function isWanted(prompts: SetupPrompts, provider: ModelConnection, known: KnownEnvironment): Promise<boolean> {
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

function toChoice(provider: ProviderSettings, environment: Readonly<Record<string, string | undefined>>): Choice {
  const { name, type, baseUrl, apiKey, models } = provider
  const keyVariable = apiKey && Object.keys(environment).find((variable) => environment[variable]?.trim() === apiKey)
  const label = toDisplayText(`${name}: ${models.main?.model ?? ''}`)
  const hint = keyVariable ? `found: ${keyVariable}` : 'found: it is running'
  return { label, hint, name, type, baseUrl, keyVariable: keyVariable || undefined, hasKey: true, models }
}

function isAmount(text: string): boolean {
  return /^\d+(?:\.\d+)?$/.test(text.trim())
}

function toPrices(text: string): number[] | undefined {
  const parts = text.split(',')
  return parts.length >= 2 && parts.length <= 4 && parts.every(isAmount) ? parts.map(Number) : undefined
}

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

  const { provider } = answers
  const changes: SettingChange[] = [
    [['routes', 'primary'], provider ? `${provider.name}/main` : 'offline/offline'],
    [['budget', 'per_day_usd'], answers.perDayUsd],
  ]
  const draft = draftConnection(provider, changes, paths)
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
  await writeDrafts(draft.files, paths, now())
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
