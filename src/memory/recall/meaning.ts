import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { type Database, type VectorMatch, type VectorSearch, vectorNumbers } from '../../storage/database.ts'
import { cosine, toWideQuestion } from '../../storage/vectors/stored-vectors.ts'
import type { EmbeddingText } from '../embedding/embed-memories.ts'
import type { Embedder } from '../embedding/embedders.ts'
import type { KnownSpeakers } from './window-words.ts'

/** A memory once, by its nearest passage. */
interface MeaningMatch extends VectorMatch {
  /** Which passage that is, if not the first. */
  part?: number | undefined
}

/** Nearest memories by meaning, each once. Undefined if there is no embedding, or it fails: then recall uses words. */
export type FindByMeaning = (query: {
  userId: string
  text: string
  limit: number
  within?: readonly number[] | undefined
  signal?: AbortSignal | undefined
}) => Promise<MeaningMatch[] | undefined>

export const noMeaning: FindByMeaning = async () => undefined

export function createFindByMeaning(dependencies: {
  database: Database
  /** The model of the user's memories, which must also embed the question. */
  searchModel(userId: string): Promise<string>
  embedderOf(model: string): Embedder | undefined
  vectorSearch: VectorSearch
  logger: Logger
  clock: Clock
  /** After a long idle time reading a million vectors takes seconds: until they are loaded, recall uses words. */
  patienceMs?: number
}): FindByMeaning {
  const { database, searchModel, embedderOf, vectorSearch, logger, clock, patienceMs = 1_500 } = dependencies
  let lastProblem = ''

  async function withinPatience(searching: Promise<MeaningMatch[]>): Promise<MeaningMatch[] | undefined> {
    let cancel = () => {}
    const enough = new Promise<undefined>((resolve) => {
      cancel = clock.after(patienceMs, () => resolve(undefined))
    })
    // The caller no longer waits; the loaded data is there for the next question.
    searching.catch(() => undefined)
    return await Promise.race([searching, enough]).finally(() => cancel())
  }

  interface Asked {
    userId: string
    model: string
    vector: Float32Array
    limit: number
    signal: AbortSignal | undefined
  }

  /** Passages of one long text may fill the list: then a longer one is requested. */
  async function searchAll({ signal, ...asked }: Asked): Promise<MeaningMatch[]> {
    for (const limit of [asked.limit, asked.limit * 4]) {
      const found = await vectorSearch.search({ ...asked, limit, ...(signal && { signal }) })
      const once = bestOfEach(found)
      if (found.length < limit || once.length === found.length || limit > asked.limit) {
        return await withParts(once.slice(0, asked.limit), asked)
      }
    }
    return []
  }

  async function withParts(matches: MeaningMatch[], { model, vector }: Omit<Asked, 'signal'>): Promise<MeaningMatch[]> {
    const question = toWideQuestion(vector)
    const parts = new Map<number, { score: number; part: number }>()
    const numbers = matches.map(({ number }) => number)
    for (const row of await readVectors(database, { model, numbers, fromPart: 1 })) {
      const score = cosine(question, vectorNumbers(row.vector))
      if (score > (parts.get(row.number)?.score ?? -1)) parts.set(row.number, { score, part: row.part })
    }
    return matches.map((match) => {
      const later = parts.get(match.number)
      return later && later.score >= match.score - 1e-6 ? { ...match, part: later.part } : match
    })
  }

  /** One by one: they are few, so scanning all others is not worth it. */
  async function searchWithin(
    numbers: readonly number[],
    { userId, model, vector, limit, signal }: Asked,
  ): Promise<MeaningMatch[]> {
    const question = toWideQuestion(vector)
    const matches: MeaningMatch[] = []
    for (let from = 0; from < numbers.length; from += numbersAtOnce) {
      signal?.throwIfAborted()
      const page = numbers.slice(from, from + numbersAtOnce)
      for (const row of await readVectors(database, { model, numbers: page, fromPart: 0 })) {
        if (row.user_id !== userId) continue
        matches.push({ number: row.number, score: cosine(question, vectorNumbers(row.vector)), part: row.part })
      }
      // Yields to everything else.
      await setImmediate()
    }
    return bestOfEach(matches.sort((a, b) => b.score - a.score || b.number - a.number)).slice(0, limit)
  }

  return async ({ userId, text, limit, within, signal }) => {
    try {
      const model = await searchModel(userId)
      // Otherwise a user without memories would wait for a model to load.
      if (!(await hasVectors(database, userId, model))) return undefined
      const [vector] = (await embedderOf(model)?.embed([text], 'question', signal)) ?? []
      if (!vector) return undefined
      const asked = { userId, model, vector, limit, signal }
      const matches = await withinPatience(within ? searchWithin(within, asked) : searchAll(asked))
      lastProblem = ''
      return matches
    } catch (error) {
      signal?.throwIfAborted()
      const problem = error instanceof Error ? error.message : String(error)
      // Once, not at every turn.
      if (problem !== lastProblem) logger.warn('recall uses words only', { problem })
      lastProblem = problem
      return undefined
    }
  }
}

const numbersAtOnce = 1_000

/** The first of each memory, which is the best in a sorted list. */
function bestOfEach(matches: readonly MeaningMatch[]): MeaningMatch[] {
  const seen = new Set<number>()
  return matches.filter(({ number }) => !seen.has(number) && seen.add(number))
}

async function readVectors(
  database: Database,
  { model, numbers, fromPart }: { model: string; numbers: readonly number[]; fromPart: number },
) {
  const found: { number: number; user_id: string; part: number; vector: Uint8Array }[] = []
  for (let from = 0; from < numbers.length; from += numbersAtOnce) {
    const rows = await database.read
      .selectFrom('memory_vectors')
      .select(['number', 'user_id', 'part', 'vector'])
      .where('number', 'in', numbers.slice(from, from + numbersAtOnce))
      .where('model', '=', model)
      .where('part', '>=', fromPart)
      .execute()
    found.push(...rows)
  }
  return found
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

/** The embedded text of a memory: its title and content, without speaker names. */
export function createEmbeddingText(speakers: KnownSpeakers): EmbeddingText {
  return async ({ userId, title, content }) => {
    const names = await speakers.of(userId)
    return names.takenOut(title === null ? content : `${title}\n${content}`)
  }
}
