import type { Capability } from '../capability.ts'
import { indexedText } from './capability-text.ts'
import { serves } from './serves.ts'
import { createVectorTable, type VectorTable } from './vector-table.ts'
import { createWordIndex, type WordIndex } from './word-index.ts'

/** What one user's capabilities are found by. */
export interface UserIndex {
  readonly words: WordIndex
  /** Undefined before the first vector. */
  vectors(): VectorTable | undefined
  putVector(id: string, vector: Int8Array): void
  /** Takes in what has changed, and returns it. Gives way to others every so often. */
  follow(capabilities: readonly Capability[]): Promise<Capability[]>
  nameOf(id: string): string | undefined
  /** Whether it stands for this version of the capability. */
  holds(capability: Capability): boolean
}

const perSlice = 200

export function createUserIndex(): UserIndex {
  const words = createWordIndex()
  const held = new Map<string, { name: string; version: number | null }>()
  let table: VectorTable | undefined

  function drop(id: string): void {
    words.delete(id)
    table?.delete(id)
    held.delete(id)
  }

  return {
    words,
    vectors: () => table,
    putVector(id, vector) {
      // A server may answer with another length from one day to the next: what does not fit together is left out.
      table ??= createVectorTable(vector.length)
      if (held.has(id) && table.dimensions === vector.length) table.put(id, vector)
    },
    async follow(capabilities) {
      const serving = new Map(capabilities.filter(serves).map((capability) => [capability.id, capability]))
      for (const id of [...held.keys()]) if (!serving.has(id)) drop(id)
      const changed = [...serving.values()].filter(({ id, version }) => held.get(id)?.version !== version)
      for (const [index, capability] of changed.entries()) {
        if (index % perSlice === perSlice - 1) await new Promise(setImmediate)
        words.put(capability.id, indexedText(capability, ''))
        table?.delete(capability.id)
        held.set(capability.id, { name: capability.name, version: capability.version })
      }
      return changed
    },
    nameOf: (id) => held.get(id)?.name,
    holds: ({ id, version }) => held.get(id)?.version === version,
  }
}
