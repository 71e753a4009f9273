export interface VectorMatch {
  /** Of the memory. */
  number: number
  /** Cosine: 1 is the same direction. */
  score: number
}

/**
 * Nearest vectors among one user's, of one model. It sees everything that was committed to `memory_vectors` before the
 * question. What was deleted since it looked last may still be among the answers: whoever asks reads the memories by
 * their numbers anyway, and finds them gone.
 */
export interface VectorSearch {
  /** Best first. Empty where the user has no vectors of that model. */
  search(query: {
    userId: string
    model: string
    vector: Float32Array
    limit: number
    signal?: AbortSignal
  }): Promise<VectorMatch[]>
  /** What it searches with, in a few words for a person. */
  describe(): Promise<string>
  close(): Promise<void>
}
