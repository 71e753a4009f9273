import type { Reader } from '../../storage/database.ts'
import { type Memory, memoryFromRow } from '../memory.ts'

export async function newestNumber(reader: Reader): Promise<number> {
  const { newest } = await reader
    .selectFrom('memories')
    .select(({ fn }) => fn.max('number').as('newest'))
    .executeTakeFirstOrThrow()
  return Number(newest ?? 0)
}

/** Memories of all users without a vector of the model, in the order of their numbers. Looks at `until - after` rows at most. */
export async function findMissing(
  reader: Reader,
  range: { model: string; after: number; until: number; limit: number },
): Promise<Memory[]> {
  const rows = await reader
    .selectFrom('memories')
    .selectAll()
    .where('number', '>', range.after)
    .where('number', '<=', range.until)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('memory_vectors')
            .select('memory_vectors.number')
            .where('model', '=', range.model)
            // A number has one user: with the user beside it the row itself would be read, not just its key.
            .whereRef('memory_vectors.number', '=', 'memories.number'),
        ),
      ),
    )
    .orderBy('number')
    .limit(range.limit)
    .execute()
  return rows.map(memoryFromRow)
}

/** Every model that has a vector: a step in the index for each, however many vectors there are. */
export async function modelsInUse(reader: Reader): Promise<string[]> {
  const models: string[] = []
  for (;;) {
    const next = await reader
      .selectFrom('memory_vectors')
      .select('model')
      .where('model', '>', models.at(-1) ?? '')
      .orderBy('model')
      .limit(1)
      .executeTakeFirst()
    if (!next) return models
    models.push(next.model)
  }
}

export async function countVectors(reader: Reader, model: string, userId?: string): Promise<number> {
  let query = reader
    .selectFrom('memory_vectors')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('model', '=', model)
  if (userId !== undefined) query = query.where('user_id', '=', userId)
  return Number((await query.executeTakeFirstOrThrow()).count)
}

export async function countMemories(reader: Reader, userId?: string): Promise<number> {
  let query = reader.selectFrom('memories').select(({ fn }) => fn.countAll().as('count'))
  if (userId !== undefined) query = query.where('user_id', '=', userId)
  return Number((await query.executeTakeFirstOrThrow()).count)
}
