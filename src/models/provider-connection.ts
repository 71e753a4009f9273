import { isRecord, parseAnyJson } from '../base/json.ts'
import type { CostRates } from '../base/money.ts'
import type { Json } from '../protocol/messages.ts'
import type { GuardedFetch } from '../security/network/guarded-fetch.ts'
import type { ModelInfo } from './model.ts'

/** The guarded fetch, with its lighter path for streams if it has one. Every request goes through it. */
export type ProviderFetch = typeof globalThis.fetch & Pick<GuardedFetch, 'open'>

/** How a provider is reached, and which of its models. */
export interface ProviderConnection {
  /** Empty for a package that knows the address itself. */
  baseUrl: string
  apiKey: string | undefined
  settings: ModelSettings
  fetch: ProviderFetch
  /** For the package of an `ai-sdk` provider. */
  options?: Record<string, string | number | boolean>
}

export interface RequestExtras {
  headers?: Record<string, string> | undefined
  query?: Record<string, string> | undefined
  body?: { [key: string]: Json } | undefined
}

/** The same fetch, with the owner's additions to every request of a provider. They override the wire's fields. */
export function withExtras(
  fetch: ProviderFetch,
  { headers = {}, query = {}, body = {} }: RequestExtras,
): ProviderFetch {
  const hasQuery = Object.keys(query).length > 0
  const hasBody = Object.keys(body).length > 0
  if (!hasQuery && !hasBody && Object.keys(headers).length === 0) return fetch

  function addressed(address: string): string {
    if (!hasQuery) return address
    const url = new URL(address)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url.href
  }

  function headed(sent: ConstructorParameters<typeof Headers>[0]): Record<string, string> {
    const all = new Headers(sent)
    for (const [name, value] of Object.entries(headers)) all.set(name, value)
    return Object.fromEntries(all)
  }

  function filled(sent: string): string {
    const parsed = hasBody ? parseAnyJson(sent) : undefined
    return parsed?.ok ? JSON.stringify(conversationLast(merged(parsed.value, body))) : sent
  }

  const extended: typeof globalThis.fetch = (input, init) => {
    const address = input instanceof Request ? input.url : String(input)
    const content = typeof init?.body === 'string' ? filled(init.body) : init?.body
    return fetch(addressed(address), {
      ...init,
      headers: headed(init?.headers ?? (input instanceof Request ? input.headers : undefined)),
      ...(content !== undefined && { body: content }),
    })
  }
  const { open } = fetch
  if (!open) return extended
  const extendedOpen: NonNullable<ProviderFetch['open']> = (url, init) =>
    open(addressed(url), {
      ...init,
      headers: headed(init.headers),
      ...(typeof init.body === 'string' && { body: filled(init.body) }),
    })
  return Object.assign(extended, { open: extendedOpen })
}

/** Tables are merged, other values replaced, and an empty text removes the field. */
function merged(sent: Json, more: Json): Json {
  if (!isRecord(sent) || !isRecord(more)) return more
  const result = { ...sent }
  for (const [name, value] of Object.entries(more)) {
    const known = Object.hasOwn(result, name) ? result[name] : undefined
    if (value === '') delete result[name]
    else result[name] = known === undefined ? value : merged(known, value)
  }
  return result
}

/** As on every wire: the growing part comes last. */
function conversationLast(body: Json): Json {
  if (!isRecord(body)) return body
  const key = ['messages', 'input', 'contents'].find((name) => Object.hasOwn(body, name))
  return key === undefined ? body : withKeyLast(body, key)
}

/**
 * Default models without configuration, with list prices of November 2026. Only for discovery: a provider file contains
 * its own prices.
 */
const claude: ModelSettings = {
  model: 'claude-sonnet-5-5',
  maxTokens: 16_384,
  maxContextTokens: 200_000,
  costPerMtok: [2, 10, 0.2, 2.5],
  supportsVision: true,
}

export const anthropicModels: Record<string, ModelSettings> = {
  main: claude,
  // The price applies up to a prompt of 100,000 tokens, so that is the context.
  fast: { ...claude, model: 'claude-haiku-5-5', maxContextTokens: 100_000, costPerMtok: [0.1, 0.5, 0.01, 0.125] },
}

export const openaiModels: Record<string, ModelSettings> = {
  main: { ...claude, model: 'gpt-6-sol', costPerMtok: [2, 10, 0.2, 2.5] },
  fast: { ...claude, model: 'gpt-6-luna', costPerMtok: [0.1, 0.5, 0.01, 0.125] },
}

export const googleModels: Record<string, ModelSettings> = {
  // The price from January 2027 on; until then it is half of this, and a budget errs on the safe side.
  main: { ...claude, model: 'gemini-3.8-flash', costPerMtok: [1.5, 7.5, 0.15] },
}

export const openrouterModels: Record<string, ModelSettings> = {
  main: { ...claude, model: 'anthropic/claude-sonnet-5.5' },
}

/** Served by others under their own names and prices: unpriced until the owner states a price. */
export function unpricedModel(model: string): Record<string, ModelSettings> {
  return { main: { model, maxTokens: 8_192, maxContextTokens: 128_000, costPerMtok: null } }
}

/** On the owner's machine a token costs nothing. */
export function localModelSettings(model: string, found: Partial<ModelSettings> = {}): Record<string, ModelSettings> {
  return { main: { model, maxTokens: 4_096, maxContextTokens: 32_768, costPerMtok: [0, 0], ...found } }
}

/**
 * Moves one key to the end. The conversation is last in every request body, so that a request is the previous one plus
 * the new part, byte for byte, with nothing constant after the growing part.
 */
export function withKeyLast<T extends Record<string, unknown>>(body: T, key: keyof T & string): T {
  const { [key]: last, ...rest } = body
  return { ...rest, [key]: last } as T
}

/** For SDKs that give no access to the body before it is text. */
export function fetchWithKeyLast(fetch: typeof globalThis.fetch, key: string): typeof globalThis.fetch {
  return (input, init) => {
    if (typeof init?.body !== 'string') return fetch(input, init)
    const parsed = parseAnyJson(init.body)
    if (!parsed.ok) return fetch(input, init)
    const body = withKeyLast(parsed.value as Record<string, unknown>, key)
    return fetch(input, { ...init, body: JSON.stringify(body) })
  }
}

export const providerTypes = [
  'anthropic',
  'openai',
  'openai-compatible',
  'google',
  'ollama',
  'ai-sdk',
  'offline',
] as const
export type ProviderType = (typeof providerTypes)[number]

/** One `[models.NAME]` table of a provider file. */
export interface ModelSettings {
  /** The provider's name for it. */
  model: string
  maxTokens?: number | undefined
  maxContextTokens?: number | undefined
  /** Per million tokens: input, output and, if they differ from input, cache read and cache write. */
  costPerMtok?: readonly number[] | null | undefined
  /** In dollars, for a model that makes pictures. */
  costPerImage?: number | undefined
  supportsVision?: boolean | undefined
  /** Thinking budget in tokens; 0 disables thinking. If undefined, the provider decides. */
  thinkingTokens?: number | undefined
  /** Enforce every tool's schema on its arguments. */
  strictTools?: boolean | undefined
  oneCallAtATime?: boolean | undefined
  temperature?: number | undefined
  /** More fields of the request, overriding those of the provider. */
  body?: { [key: string]: Json } | undefined
}

/** A `providers.d/NAME.toml`, read and checked. */
export interface ProviderSettings {
  name: string
  type: ProviderType
  baseUrl?: string | undefined
  apiKey?: string | undefined
  /** The environment variable with the key, if the file has none. */
  apiKeyEnv?: string | undefined
  /** With the type `ai-sdk`: the provider's package. */
  package?: string | undefined
  /** Options of the package beside key and address, such as a region. */
  options?: Record<string, string | number | boolean> | undefined
  /** Sent with every request, with environment values filled in. */
  headers?: Record<string, string> | undefined
  query?: Record<string, string> | undefined
  /** Fields of every request's body; an empty text removes a field. */
  body?: { [key: string]: Json } | undefined
  /** Secret values in the above, for the redactor. */
  secrets?: readonly string[] | undefined
  models: Record<string, ModelSettings>
}

export function modelInfo(id: string, settings: ModelSettings): ModelInfo {
  return {
    id,
    maxTokens: settings.maxTokens ?? 8_192,
    maxContextTokens: settings.maxContextTokens ?? 128_000,
    supportsVision: settings.supportsVision ?? false,
    costPerMtok: completeRates(settings.costPerMtok),
  }
}

/** Cached tokens cost the same as other input unless a rate says otherwise; without rates the model is unpriced. */
function completeRates(rates: readonly number[] | null | undefined): CostRates | null {
  const [input, output, cacheRead, cacheWrite] = rates ?? []
  if (input === undefined || output === undefined) return null
  return [input, output, cacheRead ?? input, cacheWrite ?? input]
}

/** Converts a thinking budget for providers that use an effort level. */
export function toEffort(thinkingTokens: number): 'low' | 'medium' | 'high' {
  if (thinkingTokens < 4_096) return 'low'
  return thinkingTokens < 16_384 ? 'medium' : 'high'
}
