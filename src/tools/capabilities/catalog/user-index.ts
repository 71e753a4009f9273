import type { Capability } from '../capability.ts'
import { indexedText, nothingTold } from './capability-text.ts'
import type { CapabilityVectors } from './capability-vectors.ts'
import { serves } from './serves.ts'
import { createVectorTable, type VectorTable } from './vector-table.ts'
import { createWordIndex, type WordIndex } from './word-index.ts'

/** What one user's capabilities are found by. */
export interface UserIndex {
  readonly words: WordIndex
  /** Undefined before the first vector. */
  vectors(): CapabilityVectors<VectorTable> | undefined
  putVectors(id: string, vectors: CapabilityVectors<Int8Array>): void
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
  let tables: CapabilityVectors<VectorTable> | undefined

  function drop(id: string): void {
    words.delete(id)
    dropVectors(id)
    held.delete(id)
  }

  function dropVectors(id: string): void {
    tables?.said.delete(id)
    tables?.whole.delete(id)
  }

  return {
    words,
    vectors: () => tables,
    putVectors(id, { said, whole }) {
      tables ??= { said: createVectorTable(said.length), whole: createVectorTable(said.length) }
      // A server may answer with another length from one day to the next: what does not fit together is left out.
      if (!held.has(id) || tables.said.dimensions !== said.length) return
      tables.said.put(id, said)
      tables.whole.put(id, whole)
    },
    async follow(capabilities) {
      const serving = new Map(capabilities.filter(serves).map((capability) => [capability.id, capability]))
      for (const id of [...held.keys()]) if (!serving.has(id)) drop(id)
      const changed = [...serving.values()].filter(({ id, version }) => held.get(id)?.version !== version)
      for (const [index, capability] of changed.entries()) {
        if (index % perSlice === perSlice - 1) await new Promise(setImmediate)
        words.put(capability.id, indexedText(capability, nothingTold))
        dropVectors(capability.id)
        held.set(capability.id, { name: capability.name, version: capability.version })
      }
      return changed
    },
    nameOf: (id) => held.get(id)?.name,
    holds: ({ id, version }) => held.get(id)?.version === version,
  }
}
