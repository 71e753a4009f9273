import type { CostRates, ModelInfo } from './model.ts'

export const providerTypes = ['anthropic', 'openai', 'openai-compatible', 'google', 'ollama', 'offline'] as const
export type ProviderType = (typeof providerTypes)[number]

/** One `[models.NAME]` table of a provider file. */
export interface ModelSettings {
  /** The name that the provider knows. */
  model: string
  maxTokens?: number | undefined
  maxContextTokens?: number | undefined
  /** Per million tokens: input, output and, where they differ from input, cache read and cache write. */
  costPerMtok?: readonly number[] | null | undefined
  supportsVision?: boolean | undefined
  /** Tokens that the model may think; 0 asks it not to. Left out, the provider decides. */
  thinkingTokens?: number | undefined
  /** Hold every tool's arguments to its schema. */
  strictTools?: boolean | undefined
  oneCallAtATime?: boolean | undefined
  temperature?: number | undefined
}

/** A `providers.d/NAME.toml`, read and checked. */
export interface ProviderSettings {
  name: string
  type: ProviderType
  baseUrl?: string | undefined
  apiKey?: string | undefined
  /** The environment variable that holds the key, where the file does not. */
  apiKeyEnv?: string | undefined
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

/** Cached tokens cost what other input costs unless a rate says otherwise; without rates the model is unpriced. */
function completeRates(rates: readonly number[] | null | undefined): CostRates | null {
  const [input, output, cacheRead, cacheWrite] = rates ?? []
  if (input === undefined || output === undefined) return null
  return [input, output, cacheRead ?? input, cacheWrite ?? input]
}
