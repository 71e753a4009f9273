import type { Database } from '../../storage/database.ts'
import { countVectors } from './missing-vectors.ts'

/** Which model's vectors answer a user's questions while another model takes over. */
export interface SearchModel {
  of(userId: string): Promise<string>
  /** Counted as it goes, so that nobody counts a million vectors at every question. */
  written(userId: string, model: string, count: number): void
}

/** `older` are those that questions can still be embedded with. */
export function createSearchModel(options: {
  database: Database
  current: string
  older: readonly string[]
}): SearchModel {
  const { database, current, older } = options
  const counts = new Map<string, Map<string, number>>()

  async function count(userId: string): Promise<Map<string, number>> {
    const found = [current, ...older].map(
      async (model): Promise<[string, number]> => [model, await countVectors(database.read, model, userId)],
    )
    return new Map(await Promise.all(found))
  }

  return {
    async of(userId) {
      if (older.length === 0) return current
      const vectors = counts.get(userId) ?? (await count(userId))
      counts.set(userId, vectors)
      // The sort is stable: at a tie the new one wins.
      return [current, ...older].sort((a, b) => (vectors.get(b) ?? 0) - (vectors.get(a) ?? 0))[0] ?? current
    },
    written(userId, model, count) {
      const vectors = counts.get(userId)
      vectors?.set(model, (vectors.get(model) ?? 0) + count)
    },
  }
}
