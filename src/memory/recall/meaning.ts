import type { Clock } from '../../base/clock.ts'
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
  clock: Clock
  /** After a long rest a million vectors take seconds to read: until they are there, recall goes by words. */
  patienceMs?: number
}): FindByMeaning {
  const { database, searchModel, embedderOf, vectorSearch, logger, clock, patienceMs = 1_500 } = dependencies
  let lastProblem = ''

  async function withinPatience(searching: Promise<VectorMatch[]>): Promise<VectorMatch[] | undefined> {
    let cancel = () => {}
    const enough = new Promise<undefined>((resolve) => {
      cancel = clock.after(patienceMs, () => resolve(undefined))
    })
    // Nobody waits for it any more; what it loads is there for the next question.
    searching.catch(() => undefined)
    return await Promise.race([searching, enough]).finally(() => cancel())
  }

  return async ({ userId, text, limit, signal }) => {
    try {
      const model = await searchModel(userId)
      // Without this a user with no memories would wait for a model to be loaded.
      if (!(await hasVectors(database, userId, model))) return undefined
      const [vector] = (await embedderOf(model)?.embed([text], 'question', signal)) ?? []
      if (!vector) return undefined
      const searching = vectorSearch.search({ userId, model, vector, limit, ...(signal && { signal }) })
      const matches = await withinPatience(searching)
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
