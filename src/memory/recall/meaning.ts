import type { Logger } from '../../base/logger.ts'
import type { Database } from '../../storage/database.ts'
import type { VectorMatch, VectorSearch } from '../../storage/vector-search.ts'
import type { Embedder } from '../embedding/embedder.ts'

/** Nearest memories by meaning. Undefined where there is no embedding, or it fails: then recall goes by words. */
export type FindByMeaning = (query: {
  userId: string
  text: string
  limit: number
  signal?: AbortSignal | undefined
}) => Promise<VectorMatch[] | undefined>

export const noMeaning: FindByMeaning = async () => undefined

export function createFindByMeaning(dependencies: {
  database: Database
  /** The model that the user's memories are embedded with, and the one to ask with it. */
  searchModel(userId: string): Promise<string>
  embedderOf(model: string): Embedder | undefined
  vectorSearch: VectorSearch
  logger: Logger
}): FindByMeaning {
  const { database, searchModel, embedderOf, vectorSearch, logger } = dependencies
  let lastProblem = ''
  return async ({ userId, text, limit, signal }) => {
    try {
      const model = await searchModel(userId)
      // Without this a user with no memories would wait for a model to be loaded.
      if (!(await hasVectors(database, userId, model))) return undefined
      const [vector] = (await embedderOf(model)?.embed([text], 'question', signal)) ?? []
      if (!vector) return undefined
      const matches = await vectorSearch.search({ userId, model, vector, limit, ...(signal && { signal }) })
      lastProblem = ''
      return matches
    } catch (error) {
      signal?.throwIfAborted()
      const problem = error instanceof Error ? error.message : String(error)
      // Once, not at every turn.
      if (problem !== lastProblem) logger.warn('recall goes by words alone', { problem })
      lastProblem = problem
      return undefined
    }
  }
}

async function hasVectors(database: Database, userId: string, model: string): Promise<boolean> {
  const found = await database.read
    .selectFrom('memory_vectors')
    .select('number')
    .where('model', '=', model)
    .where('user_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}
