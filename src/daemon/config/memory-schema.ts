import { z } from 'zod'
import { embeddingProviders } from '../../memory/embedding/embedding-settings.ts'
import { baseUrl, variableName } from './provider-schema.ts'

interface Embedding {
  provider?: string
  model?: string
  base_url?: string
  api_key_env?: string
}

const tableSchema = z.strictObject({
  provider: z.enum(embeddingProviders).default('local'),
  /** The name that the server knows. */
  model: z.string().min(1).exactOptional(),
  base_url: baseUrl.exactOptional(),
  api_key_env: variableName.exactOptional(),
})

const idle = 'does nothing without a server: provider = "openai-compatible" or "ollama"'
const embeddingSchema = tableSchema
  .refine(({ provider, model }) => !isServer(provider) || model !== undefined, told('model', 'is needed for a server'))
  .refine(
    ({ provider, base_url }) => provider !== 'openai-compatible' || base_url !== undefined,
    told('base_url', 'is needed for provider "openai-compatible"'),
  )
  .refine(isUsed('model'), told('model', idle))
  .refine(isUsed('base_url'), told('base_url', idle))
  .refine(isUsed('api_key_env'), told('api_key_env', idle))

/** `[memory]` of `familiar.toml`. */
export const memorySchema = z
  .strictObject({
    /** Whether memories fade by wall time or by turns. */
    decay: z.enum(['time', 'cycles']).default('time'),
    /** Whether what is said can be recalled later, line by line. */
    conversations: z.boolean().default(true),
    /** Whether what is worth keeping is taken out of every exchange. */
    extraction: z.boolean().default(true),
    embedding: embeddingSchema.prefault({}),
  })
  .prefault({})

function isServer(provider: string | undefined): boolean {
  return provider === 'openai-compatible' || provider === 'ollama'
}

/** Nothing is said of a provider that is a mistake itself. */
function isUsed(key: keyof Embedding): (embedding: Embedding) => boolean {
  return (embedding) => embedding[key] === undefined || (embedding.provider !== 'local' && embedding.provider !== 'off')
}

/** Also where other keys are wrong: all mistakes are told at once. */
function told(key: keyof Embedding, error: string) {
  return {
    path: [key],
    error,
    when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null,
  }
}
