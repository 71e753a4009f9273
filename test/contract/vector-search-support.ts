import { type Database, toVectorBytes } from '../../src/storage/database.ts'

export type NewVector = ArrayLike<number> | { vector: ArrayLike<number>; userId?: string; model?: string }

const rowsPerStatement = 500

/** Memories with vectors, of the user `max` and the model `one` where nothing is said. Returns their numbers in order. */
export async function addVectors(database: Database, vectors: readonly NewVector[]): Promise<number[]> {
  return database.write(async (writer) => {
    const numbers: number[] = []
    for (let from = 0; from < vectors.length; from += rowsPerStatement) {
      const part = vectors
        .slice(from, from + rowsPerStatement)
        .map((given) => ('vector' in given ? given : { vector: given }))
      const memories = part.map(({ userId = 'max' }) => memoryRow(userId))
      const added = await writer.insertInto('memories').values(memories).returning('number').execute()
      const rows = part.map(({ vector, userId = 'max', model = 'one' }, index) => ({
        number: added[index]?.number ?? 0,
        user_id: userId,
        model,
        text_hash: '',
        vector: toVectorBytes(Float32Array.from(vector)),
      }))
      await writer.insertInto('memory_vectors').values(rows).execute()
      numbers.push(...rows.map((row) => row.number))
    }
    return numbers
  })
}

/** Its vectors go with it. */
export async function forgetMemory(database: Database, number: number | undefined): Promise<void> {
  await database.write((writer) =>
    writer
      .deleteFrom('memories')
      .where('number', '=', number ?? 0)
      .execute(),
  )
}

/** The same for the same seed. */
export function randomVector(seed: number, dimensions: number): Float32Array {
  let state = Math.imul(seed, 0x9e3779b1) | 1
  return Float32Array.from({ length: dimensions }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state / 2 ** 31
  })
}

let lastId = 0

function memoryRow(userId: string) {
  lastId += 1
  return {
    id: `memory-${lastId}`,
    user_id: userId,
    kind: 'note' as const,
    content: 'text',
    content_hash: `hash-${lastId}`,
    tags: '[]',
    tier: 'long_term' as const,
    priority: 0.8,
    source: 'user' as const,
    label: 'owner' as const,
    created_at: 1,
    updated_at: 1,
    used_at: 1,
    use_count: 0,
    passages: 1,
    is_standing: 0 as const,
    cycle: 0,
  }
}
