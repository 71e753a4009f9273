import { toDisplayText } from '../base/text.ts'
import { isLoopback } from '../daemon/config/remote-access.ts'
import { anthropicModels, googleModels, openaiModels } from '../models/known-models.ts'
import type { ModelSettings, ProviderSettings, ProviderType } from '../models/model-settings.ts'
import type { SetupAnswers } from './setup-draft.ts'
import type { SetupPrompts } from './setup-prompts.ts'

type Provider = NonNullable<SetupAnswers['provider']>

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

const offers: readonly Offer[] = [
  {
    label: 'Anthropic',
    hint: 'needs a key',
    name: 'anthropic',
    type: 'anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    needsKey: true,
    models: anthropicModels,
  },
  {
    label: 'OpenAI',
    hint: 'needs a key',
    name: 'openai',
    type: 'openai',
    keyVariable: 'OPENAI_API_KEY',
    needsKey: true,
    models: openaiModels,
  },
  {
    label: 'Google',
    hint: 'needs a key',
    name: 'google',
    type: 'google',
    keyVariable: 'GEMINI_API_KEY',
    needsKey: true,
    models: googleModels,
  },
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

/** Undefined when the user left. */
export async function askForSetup(
  prompts: SetupPrompts,
  known: {
    found: readonly ProviderSettings[]
    /** With `.env` under it. */
    environment: Readonly<Record<string, string | undefined>>
    env: Readonly<Record<string, string | undefined>>
    perDayUsd: number
  },
): Promise<SetupAnswers | undefined> {
  const all = [...known.found.map((provider) => toOffer(provider, known.environment)), ...offers]
  const chosen = await prompts.choose({
    message: 'Which model should answer?',
    options: [
      ...all.map(({ label, hint }, index) => ({ value: String(index), label, hint })),
      {
        value: 'offline',
        label: 'None for now',
        hint: 'the offline model remembers and recalls, it does not converse',
      },
    ],
  })
  if (chosen === undefined) return undefined
  const offer = all[Number(chosen)]
  const provider = offer ? await askForProvider(prompts, offer, known.env) : null
  if (provider === undefined) return undefined

  const budget = await prompts.ask({
    message: 'At most how many dollars a day?',
    initial: String(known.perDayUsd),
    validate: (text) => (isAmount(text) ? undefined : 'A number, such as 5 or 2.50'),
  })
  return budget === undefined ? undefined : { provider, perDayUsd: Number(budget) }
}

async function askForProvider(
  prompts: SetupPrompts,
  offer: Offer,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Provider | undefined> {
  let { name, baseUrl, keyVariable } = offer
  if (offer.baseUrl !== undefined && !offer.hasKey) {
    baseUrl = await prompts.ask({
      message: 'Where is it?',
      initial: offer.baseUrl || 'http://127.0.0.1:8080/v1',
      validate: checkAddress,
    })
    if (baseUrl === undefined) return undefined
  }
  if (offer.baseUrl === '') {
    const named = await prompts.ask({ message: 'What shall it be called?', initial: name, validate: checkName })
    if (named === undefined) return undefined
    name = named
    keyVariable = `${name.toUpperCase().replaceAll('-', '_')}_API_KEY`
  }

  let newKey: string | undefined
  if (keyVariable !== undefined && !offer.hasKey) {
    newKey = await prompts.askSecret({
      message: offer.needsKey ? 'Its key (kept in .env, readable by you alone)' : 'Its key, if it needs one',
      validate: (text) => checkKey(text, offer.needsKey === true),
    })
    if (newKey === undefined) return undefined
    if (newKey === '') newKey = keyVariable = undefined
    // The environment comes before `.env`: under a name that is taken there the new key would never be read.
    else if (env[keyVariable]) keyVariable = `FAMILIAR_${name.toUpperCase().replaceAll('-', '_')}_KEY`
  }

  const model = await askForModel(prompts, { models: offer.models ?? {}, baseUrl })
  return model && { name, type: offer.type, baseUrl: baseUrl || undefined, keyVariable, newKey, model }
}

async function askForModel(
  prompts: SetupPrompts,
  { models, baseUrl }: { models: Record<string, ModelSettings>; baseUrl: string | undefined },
): Promise<ModelSettings | undefined> {
  const model = await prompts.ask({
    message: 'Which of its models?',
    initial: toDisplayText(models.main?.model ?? ''),
    validate: (text) => (text.trim() === '' ? 'The name that the provider knows it by' : undefined),
  })
  if (model === undefined) return undefined
  const known = Object.values(models).find((other) => other.model === model)
  if (known?.costPerMtok) return known
  const settings = known ?? { model }
  if (baseUrl && isLoopback(new URL(baseUrl).hostname)) return { ...settings, costPerMtok: [0, 0] }

  const prices = await prompts.ask({
    message:
      'What do a million tokens cost, in and out, in dollars? (3, 15; empty if you do not know: then no budget can hold it)',
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

function checkAddress(text: string): string | undefined {
  const isAddress = URL.canParse(text.trim()) && /^https?:$/.test(new URL(text.trim()).protocol)
  return isAddress ? undefined : 'An address such as http://127.0.0.1:8080/v1'
}

function checkName(text: string): string | undefined {
  return /^[a-z0-9][a-z0-9_-]*$/.test(text.trim()) ? undefined : 'Small letters, digits, - and _'
}

function checkKey(text: string, isNeeded: boolean): string | undefined {
  if (text.trim() === '') return isNeeded ? 'It needs one' : undefined
  return /^[\x21-\x7e]+$/.test(text.trim()) ? undefined : 'A key is one word of plain characters'
}

function isAmount(text: string): boolean {
  return /^\d+(?:\.\d+)?$/.test(text.trim())
}

function toPrices(text: string): number[] | undefined {
  const parts = text.split(',')
  return parts.length >= 2 && parts.length <= 4 && parts.every(isAmount) ? parts.map(Number) : undefined
}
