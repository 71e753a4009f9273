import { type Kysely, sql } from 'kysely'
import { parseAnyJson } from '../../base/json.ts'
import type { Database, Reader } from '../database.ts'
import { toQueryWords } from '../query-words.ts'
import type { TextSearch } from '../text-search.ts'
import { spaceOut } from '../unspaced-scripts.ts'
import { lengthFactor } from '../words/word-weight.ts'
import { rankByWords } from './rank-by-words.ts'
import { addScope, findScope, scopesOf } from './text-scope.ts'
import { readPlaces } from './word-places.ts'

/**
 * `text_entries` gives each text its number; the FTS5 table holds the words under that number and not the text itself,
 * which its owner stores anyway.
 *
 * A collection of a user is a scope, and the numbers of a scope follow each other. So one user's search walks that user's
 * entries only. (As a word of its own in every text, the scope made a search over 1,000,000 texts half as long again.)
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

/** Empty, in the form of today, whatever form it had. */
export async function replaceSqliteTextIndex(db: Kysely<unknown>): Promise<void> {
  for (const table of ['text_index', 'text_entries', 'text_scopes']) {
    await sql`drop table if exists ${sql.table(table)}`.execute(db)
  }
  await createSqliteTextIndex(db)
}

// A hundred thousand places of a word take about 8 ms. Where a question would need more, its commonest words are looked
// for among the newest texts.
const mostPlaces = 400_000
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

    async search({ collection, userId, words, limit }) {
      const queryWords = toQueryWords(words)
      // A negative limit would mean no limit to SQLite.
      if (queryWords.length === 0 || limit < 1) return []
      const scope = await findScope(read, collection, userId)
      if (!scope) return []
      const placesPerWord = Math.floor(mostPlaces / queryWords.length)
      const found = await Promise.all(
        queryWords.map((word) => readPlaces(read, { scope, phrase: asPhrase(word), most: placesPerWord })),
      )
      const candidates = rankByWords(found, { texts: scope.texts, limit: Math.max(limit * 2, fewestCandidates) })
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
      // The first pass may only finish a merge that began before the texts were removed; the second takes in everything.
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
 * One step towards an index of one segment without removed texts. A negative number of pages begins the work, a positive
 * one goes on with it and leaves alone what was added since. False where there was nothing to do.
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

async function readTexts(
  read: Reader,
  numbers: readonly number[],
): Promise<Map<number, { id: string; words: number }>> {
  // One value instead of a row for each, which would take three times as long.
  const found = await sql<{ texts: string }>`
    select json_group_array(json_array(text_entries.number, text_entries.id, hex(text_index_docsize.sz))) as texts
    from json_each(${JSON.stringify(numbers)}) as wanted
    join text_entries on text_entries.number = wanted.value
    join text_index_docsize on text_index_docsize.id = wanted.value`.execute(read)
  const texts = parseAnyJson(found.rows[0]?.texts ?? '[]')
  const rows = (texts.ok ? texts.value : []) as [number: number, id: string, size: string][]
  return new Map(rows.map(([number, id, size]) => [number, { id, words: parseVarint(size) }]))
}

/** Seven bits to a byte, the highest first: how FTS5 stores the number of words of a text. */
function parseVarint(hex: string): number {
  let number = 0
  for (let at = 0; at < hex.length; at += 2) number = number * 128 + (Number.parseInt(hex.slice(at, at + 2), 16) & 127)
  return number
}

export async function indexText<T>(
  writer: Kysely<T>,
  { collection, userId, id, text }: { collection: string; userId: string; id: string; text: string },
): Promise<void> {
  const scope = (await findScope(writer, collection, userId)) ?? (await addScope(writer, collection, userId))
  const number = BigInt(scope.last + 1)
  await sql`insert into text_entries (number, collection, id) values (${number}, ${collection}, ${id})`.execute(writer)
  await sql`insert into text_index (rowid, text) values (${number}, ${spaceOut(text)})`.execute(writer)
}

async function removeText<T>(writer: Kysely<T>, { collection, id }: { collection: string; id: string }): Promise<void> {
  await sql`
    delete from text_index
    where rowid = (select number from text_entries where collection = ${collection} and id = ${id})`.execute(writer)
  await sql`delete from text_entries where collection = ${collection} and id = ${id}`.execute(writer)
}

/** Letters that were set apart when the text was indexed have to stand side by side. */
function asPhrase(word: string): string {
  return `"${spaceOut(word)}"`
}
