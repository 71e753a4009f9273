import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.ts'
import { parseJson } from '../base/json.ts'
import type { AllowedHost } from '../egress/destination.ts'
import {
  anthropicModels,
  googleModels,
  localModel,
  openaiModels,
  openrouterModels,
  unpricedModel,
} from './known-models.ts'
import type { ModelSettings, ProviderSettings, ProviderType } from './model-settings.ts'

interface KeyedProvider {
  name: string
  type: ProviderType
  /** Names of environment variables, the first that is set counts. */
  keys: readonly string[]
  baseUrl?: string
  models: Record<string, ModelSettings>
}

const keyedProviders: readonly KeyedProvider[] = [
  { name: 'anthropic', type: 'anthropic', keys: ['ANTHROPIC_API_KEY'], models: anthropicModels },
  { name: 'openai', type: 'openai', keys: ['OPENAI_API_KEY'], models: openaiModels },
  {
    name: 'google',
    type: 'google',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    models: googleModels,
  },
  {
    name: 'openrouter',
    type: 'openai-compatible',
    keys: ['OPENROUTER_API_KEY'],
    baseUrl: 'https://openrouter.ai/api/v1',
    models: openrouterModels,
  },
  {
    name: 'mistral',
    type: 'openai-compatible',
    keys: ['MISTRAL_API_KEY'],
    baseUrl: 'https://api.mistral.ai/v1',
    models: unpricedModel('mistral-medium-latest'),
  },
  {
    name: 'deepseek',
    type: 'openai-compatible',
    keys: ['DEEPSEEK_API_KEY'],
    baseUrl: 'https://api.deepseek.com/v1',
    models: unpricedModel('deepseek-chat'),
  },
]

/** Where a model server of one's own is looked for. The fetch of `discoverProviders` must be able to reach these. */
export const localServers: readonly AllowedHost[] = [
  { host: '127.0.0.1', port: 11434 },
  { host: '127.0.0.1', port: 1234 },
  { host: '127.0.0.1', port: 8080 },
]

/**
 * The providers that can be used without any configuration: those whose key is in the environment, then the model servers
 * that answer on this machine. Never throws; what does not answer in time is not there.
 */
export async function discoverProviders(options: {
  env: Record<string, string | undefined>
  fetch: typeof globalThis.fetch
  timeoutMs?: number
  clock?: Clock
}): Promise<ProviderSettings[]> {
  const { env, fetch, timeoutMs = 300, clock = systemClock() } = options
  const ask = createAsk({ fetch, timeoutMs, clock })
  const local = await Promise.all([findOllama(ask), findLmStudio(ask), findLlamaCpp(ask)])
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
  return { name: 'ollama', type: 'ollama', baseUrl, models: localModel(model, found) }
}

async function findLmStudio(ask: Ask): Promise<ProviderSettings | undefined> {
  const baseUrl = 'http://127.0.0.1:1234/v1'
  const list = await ask(`${baseUrl}/models`, listSchema)
  const model = list?.data.map(({ id }) => id).find(canChat)
  return model ? { name: 'lmstudio', type: 'openai-compatible', baseUrl, models: localModel(model) } : undefined
}

/** Port 8080 is anybody's: only a server that says that it is llama.cpp counts. */
async function findLlamaCpp(ask: Ask): Promise<ProviderSettings | undefined> {
  const baseUrl = 'http://127.0.0.1:8080/v1'
  const list = await ask(`${baseUrl}/models`, listSchema)
  const model = list?.data.find(({ owned_by }) => owned_by === 'llamacpp')?.id
  return model ? { name: 'llamacpp', type: 'openai-compatible', baseUrl, models: localModel(model) } : undefined
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
