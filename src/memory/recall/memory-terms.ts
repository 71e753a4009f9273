import type { Memory } from '../memory.ts'
import { termsOf } from './terms.ts'

/** What a memory is about, for comparing with a question. */
export type MemoryTerms = (memory: Memory) => readonly string[]

const mostKept = 5_000

/** Keeps the terms of the memories read last: one question after another meets many of the same. */
export function createMemoryTerms(): MemoryTerms {
  const known = new Map<number, { updatedAt: number; terms: readonly string[] }>()
  return (memory) => {
    const kept = known.get(memory.number)
    if (kept?.updatedAt === memory.updatedAt) return kept.terms
    const terms = termsOf(`${memory.title ?? ''} ${memory.content} ${memory.tags.join(' ')}`)
    if (known.size >= mostKept) known.clear()
    known.set(memory.number, { updatedAt: memory.updatedAt, terms })
    return terms
  }
}
