import type { Parsed } from '../../../base/json.ts'

/** How one kind of server is asked. */
export interface EmbeddingWire {
  /** What stands before the model's name in the id of its vectors. */
  readonly provider: string
  /** Under the address that the owner gave. */
  readonly path: string
  body(model: string, texts: readonly string[]): object
  /** As many vectors as there were texts, in their order. Never throws: the text is whatever a server sent. */
  read(answer: string, count: number): Parsed<number[][]>
}

export function checkCount(vectors: number[][], count: number): Parsed<number[][]> {
  if (vectors.length === count) return { ok: true, value: vectors }
  return { ok: false, message: `${vectors.length} vectors for ${count} texts` }
}
