import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.ts'
import { parseJson } from '../base/json.ts'
import { causesOf, reasonOf } from '../base/text.ts'
import type { AllowedHost } from '../security/network/destinations.ts'
import { baseUrlOf, createModel } from './models-from-config.ts'
import {
  anthropicModels,
  googleModels,
  localModelSettings,
  type ModelSettings,
  openaiModels,
  openrouterModels,
  type ProviderFetch,
  type ProviderSettings,
  unpricedModel,
} from './provider-connection.ts'

/** `keys` are names of environment variables; the first that is set counts. */
const keyedProviders: readonly (ProviderSettings & { keys: readonly string[] })[] = [
  { name: 'anthropic', type: 'anthropic', keys: ['ANTHROPIC_API_KEY'], models: anthropicModels },
  { name: 'openai', type: 'openai', keys: ['OPENAI_API_KEY'], models: openaiModels },
  {
    name: 'google',
    type: 'google',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    models: googleModels,
  },
  compatible('openrouter', 'https://openrouter.ai/api/v1', openrouterModels),
  compatible('mistral', 'https://api.mistral.ai/v1', unpricedModel('mistral-medium-latest')),
  compatible('deepseek', 'https://api.deepseek.com/v1', unpricedModel('deepseek-chat')),
]

function compatible(name: string, baseUrl: string, models: ProviderSettings['models']) {
  return { name, type: 'openai-compatible', keys: [`${name.toUpperCase()}_API_KEY`], baseUrl, models } as const
}

/**
 * The addresses at which local model servers are searched. The fetch of `discoverProviders` must be able to reach
 * these.
 */
export const localServers: readonly AllowedHost[] = [
  { host: '127.0.0.1', port: 11434 },
  { host: '127.0.0.1', port: 1234 },
  { host: '127.0.0.1', port: 8080 },
]

/**
 * The providers that need no configuration: those with a key in the environment, then the model servers that answer on
 * this machine. Never throws; a server that does not answer in time is ignored.
 */
export async function discoverProviders(options: {
  env: Record<string, string | undefined>
  fetch: typeof globalThis.fetch
  timeoutMs?: number
  clock?: Clock
}): Promise<ProviderSettings[]> {
  const { env, fetch, timeoutMs = 300, clock = systemClock() } = options
  const ask = createAsk({ fetch, timeoutMs, clock })
  const local = await Promise.all([
    findOllama(ask),
    findCompatible(ask, 'lmstudio', 1234, ({ id }) => canChat(id)),
    // This port is common: only a server that identifies itself as llama.cpp counts.
    findCompatible(ask, 'llamacpp', 8080, ({ owned_by }) => owned_by === 'llamacpp'),
  ])
  return [...findKeys(env), ...local.filter((provider) => provider !== undefined)]
}

function findKeys(env: Record<string, string | undefined>): ProviderSettings[] {
  return keyedProviders.flatMap(({ keys, ...provider }) => {
    const apiKey = keys.map((key) => env[key]?.trim()).find((value) => value)
    return apiKey ? [{ ...provider, apiKey }] : []
  })
}

type Ask = <T>(url: string, schema: z.ZodType<T>, body?: object) => Promise<T | undefined>

const tagsSchema = z.object({ models: z.array(z.object({ name: z.string() })) })
const shownSchema = z.object({
  capabilities: z.array(z.string()).nullish(),
  model_info: z.record(z.string(), z.unknown()).nullish(),
})
const listSchema = z.object({ data: z.array(z.object({ id: z.string(), owned_by: z.string().nullish() })) })

async function findOllama(ask: Ask): Promise<ProviderSettings | undefined> {
  const baseUrl = 'http://127.0.0.1:11434'
  const tags = await ask(`${baseUrl}/api/tags`, tagsSchema)
  const model = tags?.models.map(({ name }) => name).find(canChat)
  if (!model) return undefined
  const shown = await ask(`${baseUrl}/api/show`, shownSchema, { model })
  const trained = Object.entries(shown?.model_info ?? {}).find(([key]) => key.endsWith('.context_length'))?.[1]
  const found: Partial<ModelSettings> = {
    supportsVision: shown?.capabilities?.includes('vision') ?? false,
    // More than this would fill the memory of most machines.
    maxContextTokens: Math.min(32_768, typeof trained === 'number' ? trained : 32_768),
  }
  return { name: 'ollama', type: 'ollama', baseUrl, models: localModelSettings(model, found) }
}

async function findCompatible(
  ask: Ask,
  name: string,
  port: number,
  isWanted: (model: z.infer<typeof listSchema>['data'][number]) => boolean,
): Promise<ProviderSettings | undefined> {
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const list = await ask(`${baseUrl}/models`, listSchema)
  const model = list?.data.find(isWanted)?.id
  return model ? { name, type: 'openai-compatible', baseUrl, models: localModelSettings(model) } : undefined
}

function canChat(name: string): boolean {
  return !/embed|rerank|whisper|\bbge\b|minilm/i.test(name)
}

function createAsk(options: { fetch: typeof globalThis.fetch; timeoutMs: number; clock: Clock }): Ask {
  const { fetch, timeoutMs, clock } = options
  return async (url, schema, body) => {
    const timeout = new AbortController()
    const stop = clock.after(timeoutMs, () => timeout.abort())
    try {
      const post = body && {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }
      const response = await fetch(url, { ...post, signal: timeout.signal })
      if (!response.ok) return undefined
      const parsed = parseJson(await response.text(), schema)
      return parsed.ok ? parsed.value : undefined
    } catch {
      return undefined
    } finally {
      stop()
    }
  }
}

/** Names as the provider knows them, or why the list is not available. */
export type ListedModels = { ok: true; models: string[] } | { ok: false; message: string }

const providerListSchema = z.union([
  // OpenAI, Anthropic and their like; Google; Ollama.
  z.object({ data: z.array(z.object({ id: z.string() })) }).transform(({ data }) => data.map(({ id }) => id)),
  z
    .object({ models: z.array(z.object({ name: z.string() })) })
    .transform(({ models }) => models.map(({ name }) => name.replace(/^models\//, ''))),
])

/** Asks the provider for its list of models, which is free and verifies address and key. Never throws. */
export async function listServerModels(
  provider: Pick<ProviderSettings, 'name' | 'type' | 'baseUrl' | 'apiKey'>,
  options: { fetch: ProviderFetch; signal: AbortSignal },
): Promise<ListedModels> {
  const { type, name, baseUrl } = provider
  if (type === 'offline') return { ok: true, models: [] }
  try {
    const base = baseUrlOf({ type, providerName: name, baseUrl })
    const path = type === 'ollama' ? '/api/tags' : type === 'anthropic' ? '/models?limit=1000' : '/models'
    const response = await options.fetch(`${base}${path}`, { headers: keyHeaders(provider), signal: options.signal })
    const text = await response.text()
    if (response.status === 401 || response.status === 403) {
      return { ok: false, message: `${base} rejected the key (HTTP ${response.status}).` }
    }
    if (!response.ok) return { ok: false, message: `${base} answered with HTTP ${response.status}.` }
    const parsed = parseJson(text, providerListSchema)
    if (parsed.ok) return { ok: true, models: parsed.value }
    return { ok: false, message: `${base} did not return a list of models.` }
  } catch (cause) {
    return { ok: false, message: describeUnreached(cause, baseUrl) }
  }
}

/** A failed connection in words: the error of `fetch` has them in its causes, as codes. */
function describeUnreached(cause: unknown, baseUrl: string | undefined): string {
  const name = baseUrl ?? 'The provider'
  const codes = causesOf(cause).map((error) => ('code' in error ? String(error.code) : error.name))
  if (codes.includes('ECONNREFUSED')) return `${name} refuses connections. Check that the server is running.`
  if (codes.some((code) => /^(?:ENOTFOUND|EAI_)/.test(code))) {
    return `${name} was not found. Check the address and the network.`
  }
  if (codes.some((code) => /timeout/i.test(code))) return `${name} did not answer in time.`
  return causesOf(cause).at(-1)?.message || reasonOf(cause)
}

/** Sends one short message. Undefined if the model answered; otherwise the reason. Never throws. */
export async function tryModel(
  provider: ProviderSettings,
  options: { fetch: ProviderFetch; signal: AbortSignal },
): Promise<string | undefined> {
  const { type, name, baseUrl, apiKey, models } = provider
  const [first] = Object.entries(models)
  if (type === 'offline' || first === undefined) return undefined
  const [modelName, settings] = first
  const { fetch, signal } = options
  const model = createModel({ type, providerName: name, name: modelName, baseUrl, apiKey, settings, fetch })
  const message = { role: 'user' as const, parts: [{ type: 'text' as const, text: 'Reply with the word OK.' }] }
  const request = {
    system: [],
    messages: [message],
    tools: [],
    maxTokens: 200,
    loadMedia: async () => new Uint8Array(),
  }
  try {
    for await (const event of model.stream(request, signal)) if (event.type === 'finished') return undefined
    return 'The response ended early.'
  } catch (cause) {
    return reasonOf(cause)
  }
}

function keyHeaders({ type, apiKey }: Pick<ProviderSettings, 'type' | 'apiKey'>): Record<string, string> {
  if (!apiKey) return {}
  if (type === 'anthropic') return { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }
  return type === 'google' ? { 'x-goog-api-key': apiKey } : { authorization: `Bearer ${apiKey}` }
}
