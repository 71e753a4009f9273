import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { toIndexedWords } from '../../words/indexed-words.ts'

/**
 * A text's entry, and a row for each of its words: the texts of one user that hold a word are a range of one index, the
 * newest at its end, and a question reads only as much of it as it can use. Words are cut and stemmed by this program,
 * as SQLite does it, so that both engines find the same.
 *
 * Not GIN: it knows no order, so that a common word would cost a look at every text that holds it; and among serializable
 * units its list of pending entries is one lock for all.
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
  // Vacuumed early: until then a look into the index is a look into the table too.
  await sql`
    create table text_index (
      scope bigint not null,
      word text collate "C" not null,
      number bigint not null,
      primary key (scope, word, number)
    ) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05)`.execute(db)
}

/** Empty, in the form of today, whatever form it had. */
export async function replacePostgresTextIndex(db: Kysely<unknown>): Promise<void> {
  await sql`drop table if exists text_index, text_entries`.execute(db)
  await createPostgresTextIndex(db)
}

export interface TextEntry {
  collection: string
  userId: string
  id: string
  text: string
}

/**
 * Replaces what was there. A new text is written without a look whether it is new: two units that look at the end of an
 * index and then write there would be refused as if each had waited for the other.
 */
export async function indexText<T>(writer: Kysely<T>, { collection, userId, id, text }: TextEntry): Promise<void> {
  const scope = scopeOf(collection, userId)
  const { words, length } = toIndexedWords(text)
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
  await sql`
    insert into text_index (scope, word, number)
    select ${scope}::bigint, word, ${number}::bigint from unnest(${words}::text[]) as word`.execute(writer)
}

export async function removeText<T>(
  writer: Kysely<T>,
  { collection, id }: { collection: string; id: string },
): Promise<void> {
  const removed = await sql<{ scope: string; number: number; words: string[] }>`
    delete from text_entries where collection = ${collection} and id = ${id}
    returning scope::text as scope, number, words`.execute(writer)
  for (const { scope, number, words } of removed.rows) {
    await sql`
      delete from text_index
      where scope = ${scope}::bigint and word = any(${words}::text[]) and number = ${number}`.execute(writer)
  }
}

/** In every collection. */
export async function removeTextsOf<T>(writer: Kysely<T>, userId: string): Promise<void> {
  await sql`
    delete from text_index
    where scope in (select distinct scope from text_entries where user_id = ${userId})`.execute(writer)
  await sql`delete from text_entries where user_id = ${userId}`.execute(writer)
}

/**
 * The texts of one user in one collection, as a number that nobody has to look up or to give out. Should two ever share
 * one, each still finds only entries that name its user.
 */
export function scopeOf(collection: string, userId: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([collection, userId]))
    .digest()
  return hash.readBigInt64BE().toString()
}
