import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database, TextMatch } from '../../storage/database.ts'
import type { MemoryRow } from '../../storage/tables.ts'
import { type DateRange, toldWithinMs } from '../dates.ts'
import { memoryCollection } from '../memories.ts'
import { type Allowed, isOf, type Memory, memoryFromRow } from '../memory.ts'
import type { FindByMeaning } from './meaning.ts'
import type { MemoryTerms, Question } from './question.ts'
import { type Candidate, placeOf, placesBeside } from './window-words.ts'

/** The limit per list. More took longer and found nothing on the measured data. */
const maxByWords = 80
const maxByMeaning = 120
const maxStanding = 20
/** How many of the best also bring their neighbors. */
const bestWithNeighbours = 30
const bestWithWindow = 50
const placesAtOnce = 40
/** How many of each list are read if a filter leaves too many to list: at least a fiftieth of them must pass it. */
const candidatesMostLookedAt = 4_000
const rowsAtOnce = 500

export interface Candidates {
  all: Candidate[]
  /** By place: the candidates and their neighbors. */
  beside: ReadonlyMap<string, Candidate>
}

/**
 * The candidates of all lists, with the neighbors of the best. Only current memories of that user; with a filter, the
 * lists contain only matches.
 */
export async function readCandidates(
  dependencies: { database: Database; findByMeaning: FindByMeaning; memoryTerms: MemoryTerms },
  asked: { userId: string; question: Question; allowed?: Allowed | undefined; signal: AbortSignal | undefined },
): Promise<Candidates> {
  const { database, findByMeaning, memoryTerms } = dependencies
  const { userId, question, allowed, signal } = asked
  const found = new Map<number, Memory>()
  const keep = (memories: readonly Memory[]) => {
    for (const memory of memories) found.set(memory.number, memory)
  }
  // Meaning takes longest, in another process: everything independent of it is done meanwhile.
  const nearby = findByMeaning({
    userId,
    text: question.embeddingText,
    limit: allowed && !allowed.few ? candidatesMostLookedAt : maxByMeaning,
    within: allowed?.few?.map(({ number }) => number),
    signal,
  })
  // Its failure is handled below; by then something else may have failed first.
  nearby.catch(() => undefined)
  const byWords = await findByWords(database, userId, question, allowed)
  const wordIds = byWords.map(({ id }) => id)
  keep(await readByKey(database, userId, 'id', wordIds))
  keep(await readStanding(database, userId, allowed))
  if (question.dates && question.terms.length === 0)
    keep(await readByDays(database, userId, question.dates, allowed?.condition))
  for (const memory of found.values()) memoryTerms(memory, question.terms)
  const near = { userId, key: 'number' as const, matches: (await nearby) ?? [], limit: maxByMeaning }
  const byMeaning = await keepAllowed(database, allowed, near)
  const wordRanks = new Map(wordIds.map((id, index) => [id, index + 1]))
  const nearest = new Map(
    byMeaning.map(({ number, score, part }, index) => [number, { cosine: score, meaningRank: index + 1, part }]),
  )
  const unread = [...nearest.keys()].filter((number) => !found.has(number))
  keep(await readByKey(database, userId, 'number', unread))

  const all = Array.from(found.values(), (memory): Candidate => {
    const wordRank = wordRanks.get(memory.id)
    return { memory, terms: memoryTerms(memory, question.terms), wordRank, ...nearest.get(memory.number) }
  }).sort((a, b) => promise(b) - promise(a))
  return await withNeighbours({ database, memoryTerms }, { userId, terms: question.terms }, all)
}

async function findByWords(
  database: Database,
  userId: string,
  { searchWords: words }: Question,
  allowed: Allowed | undefined,
): Promise<readonly TextMatch[]> {
  const query = { collection: memoryCollection, userId, words }
  const within = allowed?.few?.map(({ id }) => id)
  const limit = allowed && !within ? candidatesMostLookedAt : maxByWords
  const matches = await database.textSearch.search({ ...query, limit, ...(within && { within }) })
  return await keepAllowed(database, allowed, { userId, key: 'id', matches, limit: maxByWords })
}

/** The first matches that pass the filter; nothing to do if only those were compared. */
async function keepAllowed<Key extends 'id' | 'number', Match extends Record<Key, string | number>>(
  database: Database,
  allowed: Allowed | undefined,
  { userId, key, matches, limit }: { userId: string; key: Key; matches: readonly Match[]; limit: number },
): Promise<readonly Match[]> {
  if (!allowed || allowed.few) return matches
  const passing: Match[] = []
  for (let from = 0; from < matches.length && passing.length < limit; from += rowsAtOnce) {
    const page = matches.slice(from, from + rowsAtOnce)
    const { rows } = await sql<Record<Key, string | number>>`
      select ${sql.ref(key)} from memories where ${sql.ref(key)} in (${sql.join(page.map((match) => match[key]))})
        and ${isOf(userId)} and ${allowed.condition}`.execute(database.read)
    const keys = new Set(rows.map((row) => row[key]))
    passing.push(...page.filter((match) => keys.has(match[key])))
  }
  return passing.slice(0, limit)
}

/** Good in either list is promising: this only decides whose neighbors are read. */
function promise({ wordRank, meaningRank }: Candidate): number {
  return 1 / (10 + (wordRank ?? maxByWords)) + 1 / (10 + (meaningRank ?? maxByMeaning))
}

/** The best add their neighbors as candidates; a larger part is read with its neighbors. */
async function withNeighbours(
  { database, memoryTerms }: { database: Database; memoryTerms: MemoryTerms },
  { userId, terms }: { userId: string; terms: readonly string[] },
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
      beside.set(place, { memory, terms: memoryTerms(memory, terms), isNeighbour: true })
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

/** Standing wishes apply to every question, whatever its words. */
async function readStanding(database: Database, userId: string, allowed: Allowed | undefined): Promise<Memory[]> {
  return await readWhere(
    database,
    sql`user_id = ${userId} and is_standing = 1 and ${allowed?.condition ?? sql`1 = 1`}`,
    sql`order by number desc limit ${maxStanding}`,
  )
}

async function readByKey(
  database: Database,
  userId: string,
  key: 'id' | 'number',
  values: readonly (string | number)[],
): Promise<Memory[]> {
  if (values.length === 0) return []
  return await readWhere(database, sql`${sql.ref(key)} in (${sql.join(values)}) and ${isOf(userId)}`)
}

async function readByPlace(
  database: Database,
  userId: string,
  places: readonly { threadId: string; position: number }[],
): Promise<Memory[]> {
  if (places.length === 0) return []
  // Some twice: statements of only a few lengths are likely to be prepared already.
  const filled = Array.from({ length: Math.ceil(places.length / placesAtOnce) * placesAtOnce }, (_, index) => {
    return places[index % places.length] as (typeof places)[number]
  })
  // PostgreSQL treats a value of such a list as text unless cast.
  const pairs = sql.join(filled.map(({ threadId, position }) => sql`(${threadId}, cast(${position} as bigint))`))
  // Long prose does not count as a neighbor: its many passages need not be read. The index covers threads only, and is
  // used only by a query that says so.
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

const maxByDays = 120
// No index leads from a day to memories that refer to it: so many of the newest are read.
const maxLookedAt = 5_000

/**
 * For a question that only names days: messages from then or soon after, and memories that refer to them. Newest first,
 * only those that match the condition.
 */
async function readByDays(
  database: Database,
  userId: string,
  { from, until }: DateRange,
  condition: RawBuilder<SqlBool> = sql<SqlBool>`1 = 1`,
): Promise<Memory[]> {
  const current = sql`user_id = ${userId} and superseded_at is null and ${condition}`
  const newestFirst = sql`order by created_at desc, id desc`
  const told = sql`
    select number from memories
    where ${current} and created_at between ${from} and ${until + toldWithinMs} ${newestFirst} limit ${maxByDays}`
  const spokenOf = sql`
    select number
    from (select * from memories where ${current} ${newestFirst} limit ${maxLookedAt}) as newest
    where happened_from <= ${until} and happened_until >= ${from} limit ${maxByDays}`
  const { rows } = await sql<MemoryRow>`
    select * from memories
    where ${isOf(userId)} and number in (select * from (${told}) as told union select * from (${spokenOf}) as spoken_of)
    ${newestFirst}`.execute(database.read)
  return rows.map(memoryFromRow)
}
