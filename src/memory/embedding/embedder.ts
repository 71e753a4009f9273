/**
 * Text to a point in the space of one model. Points of different models are not comparable, so each is stored with the
 * model's id.
 *
 * The same text always gives the same vector, of length one. A text that is too long is embedded by its beginning.
 * Whatever the model lives in (a child process, a server) is started by the first call and let go when it has been idle.
 */
export interface Embedder {
  /** Names the model and how it is used: it changes whenever the vectors would. */
  readonly model: string
  /** Zero where only a server knows, until it has answered. */
  readonly dimensions: number
  /** In the order of the texts. Rejects with a `FamiliarError` that says what is missing and how to get it. */
  embed(texts: readonly string[], use: EmbeddingUse, signal?: AbortSignal): Promise<Float32Array[]>
  close(): Promise<void>
}

/** Some models want a question put differently from what may answer it. */
export type EmbeddingUse = 'question' | 'memory'
