export const embeddingProviders = ['local', 'openai-compatible', 'ollama', 'off'] as const

/** Who turns text into vectors. */
export interface EmbeddingSettings {
  /** `local` is the model that set-up fetches; `off` leaves recall to words. */
  provider: (typeof embeddingProviders)[number]
  /** The name that the server knows; the two kinds of server need one. */
  model?: string | undefined
  /** Needed for `openai-compatible`; Ollama's usual one where nothing is said. */
  baseUrl?: string | undefined
  apiKey?: string | undefined
}
