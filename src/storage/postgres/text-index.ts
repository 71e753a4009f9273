import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { TextEntry } from '../database.ts'
import { foldLetters, toIndexedWords } from '../words.ts'

/**
 * One entry per text, and one row per word of it: one user's texts with a word are a range of one index, newest last,
 * and a question reads only as much of it as it needs. This program splits and stems the words as SQLite does, so both
 * engines find the same.
 *
 * Not GIN: it has no order, so a common word would read every text that contains it; and under serializable isolation
 * its pending list is one lock for all.
 */
export async function createPostgresTextIndex(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table text_entries (
      number bigserial primary key,
      scope bigint not null,
      collection text collate "C" not null,
      user_id text collate "C" not null,
      id text collate "C" not null,
      words text[] not null,
      length bigint not null,
      constraint text_entries_key unique (collection, id)
    )`.execute(db)
  await sql`create index text_entries_of_user on text_entries (user_id, collection, number)`.execute(db)
  // Vacuumed early: until then each index lookup also reads the table.
  await sql`
    create table text_index (
      scope bigint not null,
      word text collate "C" not null,
      number bigint not null,
      primary key (scope, word, number)
    ) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05)`.execute(db)
}

/** Empties the index and brings it to the current format. */
export async function replacePostgresTextIndex(db: Kysely<unknown>): Promise<void> {
  await sql`drop table if exists text_index, text_entries`.execute(db)
  await createPostgresTextIndex(db)
}

/**
 * Replaces an existing entry. A new text is inserted without checking first: two units that read the end of an index
 * and then write there would conflict.
 */
export async function indexText<T>(writer: Kysely<T>, { collection, userId, id, text }: TextEntry): Promise<void> {
  const scope = scopeOf(collection, userId)
  const { words, length } = toIndexedWords(foldLetters(text))
  const insert = async () => {
    const added = await sql<{ number: number }>`
      insert into text_entries (scope, collection, user_id, id, words, length)
      values (${scope}, ${collection}, ${userId}, ${id}, ${words}, ${length})
      on conflict (collection, id) do nothing returning number`.execute(writer)
    return added.rows[0]?.number
  }
  let number = await insert()
  if (number === undefined) {
    await removeText(writer, { collection, id })
    number = await insert()
  }
  await addWords(writer, { scope, number, words })
}

/** Replaces the words of an existing text, under its number. Does nothing if the text is not indexed. */
export async function reindexText<T>(writer: Kysely<T>, { collection, id, text }: TextEntry): Promise<void> {
  const found = await sql<{ scope: string; number: number; words: string[] }>`
    select scope::text as scope, number, words from text_entries
    where collection = ${collection} and id = ${id}`.execute(writer)
  const [entry] = found.rows
  if (!entry) return
  const { scope, number, words: before } = entry
  const { words, length } = toIndexedWords(foldLetters(text))
  await deleteWords(writer, { scope, number, words: before })
  await sql`update text_entries set words = ${words}, length = ${length} where number = ${number}`.execute(writer)
  await addWords(writer, { scope, number, words })
}

export async function removeText<T>(
  writer: Kysely<T>,
  { collection, id }: { collection: string; id: string },
): Promise<void> {
  const removed = await sql<{ scope: string; number: number; words: string[] }>`
    delete from text_entries where collection = ${collection} and id = ${id}
    returning scope::text as scope, number, words`.execute(writer)
  for (const entry of removed.rows) await deleteWords(writer, entry)
}

interface IndexedEntry {
  scope: string
  number: number | undefined
  words: readonly string[]
}

async function addWords<T>(writer: Kysely<T>, { scope, number, words }: IndexedEntry): Promise<void> {
  await sql`
    insert into text_index (scope, word, number)
    select ${scope}::bigint, word, ${number}::bigint from unnest(${words}::text[]) as word`.execute(writer)
}

async function deleteWords<T>(writer: Kysely<T>, { scope, number, words }: IndexedEntry): Promise<void> {
  await sql`
    delete from text_index
    where scope = ${scope}::bigint and word = any(${words}::text[]) and number = ${number}`.execute(writer)
}

/** In all collections. */
export async function removeTextsOf<T>(writer: Kysely<T>, userId: string): Promise<void> {
  await sql`
    delete from text_index
    where scope in (select distinct scope from text_entries where user_id = ${userId})`.execute(writer)
  await sql`delete from text_entries where user_id = ${userId}`.execute(writer)
}

/**
 * Identifies the texts of one user in one collection by a hash, which needs no table. On a collision each user still
 * finds only entries that name that user.
 */
export function scopeOf(collection: string, userId: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([collection, userId]))
    .digest()
  return hash.readBigInt64BE().toString()
}
