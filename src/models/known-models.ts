import type { ModelSettings } from './model-settings.ts'

/**
 * Models that are used where the configuration names none, with their list prices of November 2026. Only what discovery
 * needs: whoever writes a provider file writes the prices there.
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
  // The price holds up to a prompt of 100,000 tokens, so that is the context.
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

/** Served by others under their own names and prices: unpriced until the owner says what they cost. */
export function unpricedModel(model: string): Record<string, ModelSettings> {
  return { main: { model, maxTokens: 8_192, maxContextTokens: 128_000, costPerMtok: null } }
}

/** On the owner's own machine a token costs nothing. */
export function localModel(model: string, found: Partial<ModelSettings> = {}): Record<string, ModelSettings> {
  return { main: { model, maxTokens: 4_096, maxContextTokens: 32_768, costPerMtok: [0, 0], ...found } }
}
