export interface VectorRow {
  /** Where `memory_vectors` holds it. Never given twice. */
  place: number
  /** Of the memory. */
  number: number
  /** As `vector-bytes.ts` writes them. */
  vector: Uint8Array
}

/** Where the vectors in memory come from. One question at a time. */
export interface VectorSource {
  /** From the beginning. */
  follow(userId: string, model: string): VectorFollower
  /** Those of the places that still hold a vector. */
  present(places: readonly number[]): Promise<ReadonlySet<number>>
  /** By their places. What is gone is left out. */
  read(places: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>>
  close(): Promise<void>
}

export interface VectorFollower {
  /** What was committed since the last call, in pages, each vector once. What was deleted since is not told. */
  newer(): AsyncIterable<readonly VectorRow[]>
}
