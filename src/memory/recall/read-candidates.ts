import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import type { MemoryRow } from '../../storage/tables.ts'
import type { TextMatch } from '../../storage/text-search.ts'
import { isOf } from '../is-of.ts'
import { memoryCollection } from '../memories.ts'
import { type Memory, memoryFromRow } from '../memory.ts'
import { type Candidate, candidateOf, placeOf } from './candidate.ts'
import type { FindByMeaning } from './meaning.ts'
import type { MemoryTerms } from './memory-terms.ts'
import type { Question } from './question.ts'
import { readByDays } from './read-by-days.ts'
import { placesBeside } from './window-words.ts'

/** How many each list may bring. More would cost time and found nothing on the data that this was measured with. */
const mostByWords = 80
const mostByMeaning = 120
const mostStanding = 20
/** How many of the best bring their neighbours along. */
const bestWithNeighbours = 30
const bestWithWindow = 50
const placesAtOnce = 40

export interface Candidates {
  all: Candidate[]
  /** By place: the candidates and what stands beside them. */
  beside: ReadonlyMap<string, Candidate>
}

/** Everything that the lists bring, with what stands beside the best of it. Only what is true now, only that user's. */
export async function readCandidates(
  dependencies: { database: Database; findByMeaning: FindByMeaning; memoryTerms: MemoryTerms },
  { userId, question, signal }: { userId: string; question: Question; signal: AbortSignal | undefined },
): Promise<Candidates> {
  const { database, findByMeaning, memoryTerms } = dependencies
  const found = new Map<number, Memory>()
  const keep = (memories: readonly Memory[]) => {
    for (const memory of memories) found.set(memory.number, memory)
  }
  // Meaning takes longest, in another process: everything that does not need it is done meanwhile.
  const nearby = findByMeaning({ userId, text: question.embeddingText, limit: mostByMeaning, signal })
  // Whether it failed is asked below; by then something else may have failed first.
  nearby.catch(() => undefined)
  const byWords = await findByWords(database, userId, question)
  const idsByWords = byWords.map(({ id }) => id)
  keep(await readById(database, userId, idsByWords))
  keep(await readStanding(database, userId))
  if (question.dates && question.terms.length === 0) keep(await readByDays(database, userId, question.dates))
  for (const memory of found.values()) memoryTerms(memory)
  const byMeaning = (await nearby) ?? []
  const wordRanks = new Map(byWords.map(({ id }, index) => [id, index + 1]))
  const nearest = new Map(byMeaning.map(({ number, score }, index) => [number, { cosine: score, rank: index + 1 }]))
  const unread = [...nearest.keys()].filter((number) => !found.has(number))
  keep(await readByNumber(database, userId, unread))

  const all = Array.from(found.values(), (memory) => {
    const near = nearest.get(memory.number)
    return candidateOf(memory, memoryTerms(memory), {
      wordRank: wordRanks.get(memory.id),
      cosine: near?.cosine,
      meaningRank: near?.rank,
    })
  }).sort((a, b) => promise(b) - promise(a))
  return await withNeighbours({ database, memoryTerms }, userId, all)
}

function findByWords({ textSearch }: Database, userId: string, { searchWords }: Question): Promise<TextMatch[]> {
  return textSearch.search({ collection: memoryCollection, userId, words: searchWords, limit: mostByWords })
}

/** Good in either list is promising: this only decides whose neighbours are looked at. */
function promise({ wordRank, meaningRank }: Candidate): number {
  return 1 / (10 + (wordRank ?? mostByWords)) + 1 / (10 + (meaningRank ?? mostByMeaning))
}

/** The best bring those next to them in as candidates; a larger part is read with what stands beside it. */
async function withNeighbours(
  { database, memoryTerms }: { database: Database; memoryTerms: MemoryTerms },
  userId: string,
  found: Candidate[],
): Promise<Candidates> {
  const beside = new Map<string, Candidate>()
  for (const candidate of found) {
    const place = placeOf(candidate.memory)
    if (place !== undefined) beside.set(place, candidate)
  }
  const wanted = new Map<string, { threadId: string; position: number }>()
  for (const { memory } of found.slice(0, bestWithWindow)) {
    for (const place of placesBeside(memory)) {
      const key = `${place.position} ${place.threadId}`
      if (!beside.has(key)) wanted.set(key, place)
    }
  }
  for (const memory of await readByPlace(database, userId, [...wanted.values()])) {
    const place = placeOf(memory)
    if (place !== undefined && !beside.has(place))
      beside.set(place, candidateOf(memory, memoryTerms(memory), { isNeighbour: true }))
  }
  const next = new Set<Candidate>()
  for (const { memory } of found.slice(0, bestWithNeighbours)) {
    for (const { threadId, position } of placesBeside(memory)) {
      const candidate = beside.get(`${position} ${threadId}`)
      if (candidate?.isNeighbour && Math.abs(position - (memory.position ?? 0)) === 1) next.add(candidate)
    }
  }
  return { all: [...found, ...next], beside }
}

/** Wishes that hold belong to every question, whatever its words. */
async function readStanding(database: Database, userId: string): Promise<Memory[]> {
  return await readWhere(
    database,
    sql`user_id = ${userId} and is_standing = 1`,
    sql`order by number desc limit ${mostStanding}`,
  )
}

async function readByNumber(database: Database, userId: string, numbers: readonly number[]): Promise<Memory[]> {
  if (numbers.length === 0) return []
  return await readWhere(database, sql`number in (${sql.join(numbers)}) and ${isOf(userId)}`)
}

async function readById(database: Database, userId: string, ids: readonly string[]): Promise<Memory[]> {
  if (ids.length === 0) return []
  return await readWhere(database, sql`id in (${sql.join(ids)}) and ${isOf(userId)}`)
}

async function readByPlace(
  database: Database,
  userId: string,
  places: readonly { threadId: string; position: number }[],
): Promise<Memory[]> {
  if (places.length === 0) return []
  // Some twice: a statement of one of few lengths is likely to have been prepared before.
  const filled = Array.from({ length: Math.ceil(places.length / placesAtOnce) * placesAtOnce }, (_, index) => {
    return places[index % places.length] as (typeof places)[number]
  })
  // PostgreSQL takes a value of such a list for text where it is not told otherwise.
  const pairs = sql.join(filled.map(({ threadId, position }) => sql`(${threadId}, cast(${position} as bigint))`))
  // Of long prose nothing counts beside a line: its many passages need not be read. The index holds threads only, and is
  // used only by a question that says so.
  const isHeard = sql`thread_id is not null and (passages = 1 or speaker = 'user')`
  return await readWhere(
    database,
    sql`user_id = ${userId} and (thread_id, position) in (values ${pairs}) and ${isHeard}`,
  )
}

async function readWhere(
  database: Database,
  condition: RawBuilder<unknown>,
  rest: RawBuilder<unknown> = sql``,
): Promise<Memory[]> {
  const rows = await sql<MemoryRow>`
    select * from memories where ${condition} and superseded_at is null ${rest}`.execute(database.read)
  return rows.rows.map(memoryFromRow)
}
