import type { Memory } from '../memory.ts'

/** A memory that may answer, with what is known about it so far. */
export interface Candidate {
  memory: Memory
  terms: readonly string[]
  /** Its place in the list of the full text, from 1. */
  wordRank: number | undefined
  /** Cosine of meaning, where it was among the nearest. */
  cosine: number | undefined
  meaningRank: number | undefined
  /** Found only because it stands beside a good one, or the graph leads to it. */
  isNeighbour: boolean
}

export function candidateOf(memory: Memory, terms: readonly string[], found: Partial<Candidate> = {}): Candidate {
  return {
    memory,
    terms,
    wordRank: undefined,
    cosine: undefined,
    meaningRank: undefined,
    isNeighbour: false,
    ...found,
  }
}

/** Where a memory stands in its conversation or file; undefined for one that stands alone. */
export function placeOf({ threadId, position }: Memory): string | undefined {
  return threadId === null || position === null ? undefined : placeKey(threadId, position)
}

export function placeKey(threadId: string, position: number): string {
  return `${position} ${threadId}`
}
