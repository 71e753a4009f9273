import type { Memory } from '../../src/memory/memory.ts'

/** A note that stands alone, but for what is said otherwise: for what only looks at a memory and stores nothing. */
export function madeMemory(change: Partial<Memory> = {}): Memory {
  return {
    number: 1,
    id: 'm1',
    userId: 'max',
    kind: 'note',
    content: 'The bike is red',
    title: null,
    category: null,
    tags: [],
    tier: 'long_term',
    priority: 0.8,
    source: 'user',
    label: 'owner',
    sessionId: null,
    turnId: null,
    threadId: null,
    position: null,
    passages: 1,
    speaker: null,
    happenedFrom: null,
    happenedUntil: null,
    createdAt: 0,
    updatedAt: 0,
    usedAt: 0,
    useCount: 0,
    cycle: 0,
    supersededAt: null,
    supersededBy: null,
    ...change,
  }
}
