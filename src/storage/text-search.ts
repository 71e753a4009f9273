import type { Transaction } from 'kysely'
import type { Tables } from './tables.ts'

export interface TextMatch {
  id: string
  /** Larger is better; comparable only inside one answer. */
  score: number
}

/**
 * Full text by BM25, words OR-ed, stemmed. A word counts by how rare it is, and once for a text; of two texts with the
 * same words the shorter one is better, then the newer one. No query text can break it: it is taken as plain words, never as syntax.
 * `collection` names what is searched (`notes`, …); ids are unique inside it.
 */
export interface TextSearch {
  index(
    writer: Transaction<Tables>,
    entry: { collection: string; userId: string; id: string; text: string },
  ): Promise<void>
  remove(writer: Transaction<Tables>, entry: { collection: string; id: string }): Promise<void>
  /** Everything of one user, in every collection. */
  removeUser(writer: Transaction<Tables>, userId: string): Promise<void>
  search(query: { collection: string; userId: string; words: string; limit: number }): Promise<TextMatch[]>
  /** The ids of texts that hold every one of the words, in no order. Empty where there are no words. */
  withAll(query: { collection: string; userId: string; words: readonly string[]; limit: number }): Promise<string[]>
  /**
   * Takes the words of removed texts out of the index for good: until then they lie there unused. In small units, so
   * that others can write in between; on a large index it takes minutes.
   */
  scrub(signal?: AbortSignal): Promise<void>
}
