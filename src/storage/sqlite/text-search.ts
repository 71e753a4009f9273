import { type Kysely, sql } from 'kysely'
import { parseAnyJson } from '../../base/json.ts'
import type { Database, Reader, TextEntry, TextSearch } from '../database.ts'
import { createBestSlots } from '../vectors/stored-vectors.ts'
import {
  foldLetters,
  lengthFactor,
  parseNumbers,
  spaceOut,
  toQueryWords,
  wordBeingTyped,
  wordWeight,
} from '../words.ts'

/**
 * `text_entries` numbers the texts; the FTS5 table indexes the words under that number without storing the text, which
 * its owner stores anyway.
 *
 * A user's collection is a scope, and the numbers of a scope are contiguous, so one user's search reads only that
 * user's entries. (With the scope as an extra word in every text, a search over 1,000,000 texts took 50 % longer.)
 */
export async function createSqliteTextIndex(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('text_scopes')
    .addColumn('number', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('collection', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addUniqueConstraint('text_scopes_key', ['collection', 'user_id'])
    .execute()
  await db.schema
    .createTable('text_entries')
    .addColumn('number', 'integer', (column) => column.primaryKey())
    .addColumn('collection', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addUniqueConstraint('text_entries_key', ['collection', 'id'])
    .execute()
  await sql`
    create virtual table text_index using fts5(
      text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
    )`.execute(db)
}

/** Empties the index and brings it to the current format. */
export async function replaceSqliteTextIndex(db: Kysely<unknown>): Promise<void> {
  for (const table of ['text_index', 'text_entries', 'text_scopes']) {
    await sql`drop table if exists ${sql.table(table)}`.execute(db)
  }
  await createSqliteTextIndex(db)
}

// Reading a hundred thousand places of a word takes about 8 ms. If a question needs more, its most common words are
// looked up in the newest texts only.
const maxPlaces = 400_000
const maxPlacesWithin = 4_000_000
const fewestCandidates = 200

export function createSqliteTextSearch({ read, write }: { read: Reader; write: Database['write'] }): TextSearch {
  return {
    async index(writer, entry) {
      await removeText(writer, entry)
      await indexText(writer, entry)
    },

    remove: removeText,

    async removeUser(writer, userId) {
      for (const { first, last } of await scopesOf(writer, userId)) {
        const numbers = sql`between ${BigInt(first)} and ${BigInt(last)}`
        await sql`delete from text_index where rowid ${numbers}`.execute(writer)
        await sql`delete from text_entries where number ${numbers}`.execute(writer)
      }
      await sql`delete from text_scopes where user_id = ${userId}`.execute(writer)
    },

    async search({ collection, userId, words, limit, within, isEveryWord = false, isTyping = false }) {
      const queryWords = toQueryWords(words)
      // SQLite treats a negative limit as no limit.
      if (queryWords.length === 0 || limit < 1) return []
      const scope = await findScope(read, collection, userId)
      if (!scope) return []
      const allowed = within && (await readAllowed(read, { collection, ids: within, first: scope.first }))
      if (allowed?.size === 0) return []
      // If the search is limited to given texts, common words are looked up everywhere: the wanted text may be old.
      const placesPerWord = Math.floor((allowed ? maxPlacesWithin : maxPlaces) / queryWords.length)
      const typed = isTyping ? wordBeingTyped(words) : undefined
      const found = await Promise.all(
        queryWords.map((word) => {
          const phrase = word === typed ? `${asPhrase(word)} *` : asPhrase(word)
          return readPlaces(read, { scope, phrase, most: placesPerWord })
        }),
      )
      const candidates = rankByWords(found, {
        texts: scope.texts,
        limit: Math.max(limit * 2, fewestCandidates),
        allowed,
        isEveryWord,
      })
      const texts = await readTexts(
        read,
        candidates.map(({ place }) => scope.first + place),
      )
      return candidates
        .flatMap(({ place, weight }) => {
          const text = texts.get(scope.first + place)
          return text ? [{ id: text.id, score: weight * lengthFactor(text.words), place }] : []
        })
        .sort((a, b) => b.score - a.score || b.place - a.place)
        .slice(0, limit)
        .map(({ id, score }) => ({ id, score }))
    },

    async withAll({ collection, userId, words, limit }) {
      const queryWords = words.flatMap(toQueryWords)
      if (queryWords.length === 0 || limit < 1) return []
      const scope = await findScope(read, collection, userId)
      if (!scope) return []
      const everyWord = queryWords.map(asPhrase).join(' AND ')
      const found = await sql<{ id: string }>`
        select text_entries.id as id
        from (
          select rowid as number from text_index
          where text_index match ${everyWord} and rowid between ${BigInt(scope.first)} and ${BigInt(scope.last)} limit ${limit}
        ) as found
        join text_entries on text_entries.number = found.number`.execute(read)
      return found.rows.map((row) => row.id)
    },

    async scrub(signal) {
      // The first pass may only finish an earlier merge; the second includes everything.
      for (let pass = 0; pass < 2; pass += 1) {
        signal?.throwIfAborted()
        if (!(await write((writer) => mergeIndex(writer, -pagesPerMerge)))) return
        while (await write((writer) => mergeIndex(writer, pagesPerMerge))) signal?.throwIfAborted()
      }
    },
  }
}

// A few milliseconds.
const pagesPerMerge = 64

/**
 * One step toward an index of one segment without removed texts. A negative page count starts the merge, a positive one
 * continues it and skips texts added since. False if there was nothing to do.
 */
async function mergeIndex<T>(writer: Kysely<T>, pages: number): Promise<boolean> {
  const before = await totalChanges(writer)
  await sql`insert into text_index (text_index, rank) values ('merge', ${pages})`.execute(writer)
  // The command itself counts as one change.
  return (await totalChanges(writer)) - before > 1
}

async function totalChanges<T>(writer: Kysely<T>): Promise<number> {
  const counted = await sql<{ changes: number }>`select total_changes() as changes`.execute(writer)
  return counted.rows[0]?.changes ?? 0
}

/** The places of texts in their scope. */
async function readAllowed(
  read: Reader,
  { collection, ids, first }: { collection: string; ids: readonly string[]; first: number },
): Promise<Set<number>> {
  const found = await sql<{ number: number }>`
    select text_entries.number as number
    from json_each(${JSON.stringify(ids)}) as wanted
    join text_entries on text_entries.collection = ${collection} and text_entries.id = wanted.value`.execute(read)
  return new Set(found.rows.map(({ number }) => number - first))
}

async function readTexts(
  read: Reader,
  numbers: readonly number[],
): Promise<Map<number, { id: string; words: number }>> {
  // One value instead of a row each, which would take three times as long.
  const found = await sql<{ texts: string }>`
    select json_group_array(json_array(text_entries.number, text_entries.id, hex(text_index_docsize.sz))) as texts
    from json_each(${JSON.stringify(numbers)}) as wanted
    join text_entries on text_entries.number = wanted.value
    join text_index_docsize on text_index_docsize.id = wanted.value`.execute(read)
  const texts = parseAnyJson(found.rows[0]?.texts ?? '[]')
  const rows = (texts.ok ? texts.value : []) as [number: number, id: string, size: string][]
  return new Map(rows.map(([number, id, size]) => [number, { id, words: parseVarint(size) }]))
}

/** Seven bits per byte, highest first: the format in which FTS5 stores the word count of a text. */
function parseVarint(hex: string): number {
  let number = 0
  for (let at = 0; at < hex.length; at += 2) number = number * 128 + (Number.parseInt(hex.slice(at, at + 2), 16) & 127)
  return number
}

export async function indexText<T>(writer: Kysely<T>, { collection, userId, id, text }: TextEntry): Promise<void> {
  const scope = (await findScope(writer, collection, userId)) ?? (await addScope(writer, collection, userId))
  const number = BigInt(scope.last + 1)
  await sql`insert into text_entries (number, collection, id) values (${number}, ${collection}, ${id})`.execute(writer)
  await sql`insert into text_index (rowid, text) values (${number}, ${toIndexable(text)})`.execute(writer)
}

function toIndexable(text: string): string {
  return spaceOut(foldLetters(text))
}

/** Replaces the words of an existing text, under its number. Does nothing if the text is not indexed. */
export async function reindexText<T>(writer: Kysely<T>, { collection, id, text }: TextEntry): Promise<void> {
  const found = await sql<{ number: number }>`
    select number from text_entries where collection = ${collection} and id = ${id}`.execute(writer)
  const [entry] = found.rows
  if (!entry) return
  const number = BigInt(entry.number)
  await sql`delete from text_index where rowid = ${number}`.execute(writer)
  await sql`insert into text_index (rowid, text) values (${number}, ${toIndexable(text)})`.execute(writer)
}

async function removeText<T>(writer: Kysely<T>, { collection, id }: { collection: string; id: string }): Promise<void> {
  await sql`
    delete from text_index
    where rowid = (select number from text_entries where collection = ${collection} and id = ${id})`.execute(writer)
  await sql`delete from text_entries where collection = ${collection} and id = ${id}`.execute(writer)
}

/** Letters that were separated for indexing must be adjacent. */
function asPhrase(word: string): string {
  return `"${spaceOut(word)}"`
}

/** The texts that contain a word. */
export interface WordPlaces {
  /** Numbers of texts, starting at 1. */
  places: Int32Array
  /** True if only the newest texts were read, and older ones contain the word too. */
  isCut: boolean
}

/**
 * The texts with the highest total word weight, best first, newer ones first among equals. A rare word counts more, and
 * each word once per text: in texts as short as memories it seldom occurs twice. Texts that are not allowed are
 * skipped.
 */
export function rankByWords(
  words: readonly WordPlaces[],
  {
    texts,
    limit,
    allowed,
    isEveryWord = false,
  }: { texts: number; limit: number; allowed?: ReadonlySet<number> | undefined; isEveryWord?: boolean },
): { place: number; weight: number }[] {
  const weights = new Float32Array(texts + 1)
  // How many of the words each text contains. There are at most a few dozen.
  const counts = isEveryWord && words.length > 1 ? new Uint8Array(texts + 1) : undefined
  for (const word of words) {
    const weight = weightOf(word, texts)
    for (const place of word.places) weights[place] = (weights[place] as number) + weight
    if (counts) for (const place of word.places) counts[place] = (counts[place] as number) + 1
  }
  const best = createBestSlots(limit, (place) => place)
  let least = Number.MIN_VALUE
  for (let place = texts; place > 0; place -= 1) {
    const weight = weights[place] as number
    const isWanted = (!counts || counts[place] === words.length) && (!allowed || allowed.has(place))
    if (weight >= least && isWanted) least = Math.max(best.offer(place, weight), Number.MIN_VALUE)
  }
  return best.take().map(({ slot, score }) => ({ place: slot, weight: score }))
}

function weightOf({ places, isCut }: WordPlaces, texts: number): number {
  const oldest = places.reduce((a, b) => Math.min(a, b), texts)
  const holding = isCut ? (places.length * texts) / (texts - oldest + 1) : places.length
  return wordWeight(holding, texts)
}

const textsPerScope = sql.lit(2 ** 32)

/** The texts of one user in one collection. Their numbers are contiguous. */
interface TextScope {
  /** One less than the first number. */
  first: number
  /** The newest number. */
  last: number
  texts: number
}

async function findScope<T>(db: Kysely<T>, collection: string, userId: string): Promise<TextScope | undefined> {
  const found = await sql<{ first: number; last: number | null }>`
    select scope.first, (
      select number from text_entries
      where number between scope.first and scope.first + ${textsPerScope} - 1 order by number desc limit 1
    ) as last
    from (
      select number * ${textsPerScope} as first from text_scopes
      where collection = ${collection} and user_id = ${userId}
    ) as scope`.execute(db)
  const [row] = found.rows
  if (!row) return undefined
  const last = row.last ?? row.first
  return { first: row.first, last, texts: last - row.first }
}

async function addScope<T>(writer: Kysely<T>, collection: string, userId: string): Promise<TextScope> {
  await sql`insert into text_scopes (collection, user_id) values (${collection}, ${userId})`.execute(writer)
  const added = await findScope(writer, collection, userId)
  if (!added) throw new Error('A scope that was just added is missing.')
  return added
}

/** The scopes of one user in all collections. */
async function scopesOf<T>(db: Kysely<T>, userId: string): Promise<TextScope[]> {
  const found = await sql<{ collection: string }>`
    select collection from text_scopes where user_id = ${userId}`.execute(db)
  const scopes = await Promise.all(found.rows.map(({ collection }) => findScope(db, collection, userId)))
  return scopes.filter((scope) => scope !== undefined)
}

/** The newest texts that contain the phrase. */
async function readPlaces(
  read: Reader,
  { scope, phrase, most }: { scope: TextScope; phrase: string; most: number },
): Promise<WordPlaces> {
  // As integers: FTS5 ignores a range of floats.
  const [first, last] = [BigInt(scope.first), BigInt(scope.last)]
  // One value instead of a row each, which would take most of the time.
  const found = await sql<{ places: string | null }>`
    select group_concat(place) as places from (
      select rowid - ${first} as place from text_index
      where text_index match ${phrase} and rowid between ${first} and ${last}
      order by rowid desc limit ${most}
    )`.execute(read)
  const places = parseNumbers(found.rows[0]?.places ?? '', Int32Array)
  return { places, isCut: places.length === most }
}
