import { type Kysely, sql } from 'kysely'
import { parseAnyJson } from '../../base/json.ts'
import { foldLetters } from '../words.ts'
import type { Migration, MigrationEngine } from './migration.ts'

/**
 * Finds words of every script in every form, adds an index of tags, and gives a long text one vector per passage.
 * Vectors of long texts are dropped; the background job embeds them again, passage by passage.
 */
export const searchEveryText: Migration = {
  name: '0011-search-every-text',
  async up(db, engine) {
    await createTags(db)
    if (engine.name === 'sqlite') await rebuildVectors(db)
    else await addPart(db)
    await dropVectorsOfLongTexts(db, engine)
    await walkMemories(db, engine)
  },
}

async function createTags(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('memory_tags')
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('tag', 'text', (column) => column.notNull())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('memory_tags_key', ['user_id', 'tag', 'number'])
    .addForeignKeyConstraint('memory_tags_memory', ['number'], 'memories', ['number'], (key) => key.onDelete('cascade'))
    .execute()
  await db.schema.createIndex('memory_tags_by_number').on('memory_tags').columns(['number']).execute()
}

async function addPart(db: Kysely<unknown>): Promise<void> {
  await sql`alter table memory_vectors add column part integer not null default 0`.execute(db)
  await sql`alter table memory_vectors drop constraint memory_vectors_key`.execute(db)
  await sql`alter table memory_vectors add constraint memory_vectors_key unique (number, model, part)`.execute(db)
}

/** SQLite cannot change a unique constraint of an existing table. */
async function rebuildVectors(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ seq: number }>`select seq from sqlite_sequence where name = 'memory_vectors'`.execute(db)
  await sql`alter table memory_vectors rename to old_vectors`.execute(db)
  await sql`drop trigger if exists memory_vectors_are_replaced`.execute(db)
  await sql`drop index if exists memory_vectors_by_model_user_id`.execute(db)
  await sql`drop index if exists memory_vectors_by_text_hash`.execute(db)
  await db.schema
    .createTable('memory_vectors')
    .addColumn('place', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('text_hash', 'text', (column) => column.notNull())
    .addColumn('vector', 'blob', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull().defaultTo(0))
    .addUniqueConstraint('memory_vectors_key', ['number', 'model', 'part'])
    .addForeignKeyConstraint('memory_vectors_memory', ['number'], 'memories', ['number'], (key) =>
      key.onDelete('cascade'),
    )
    .execute()
  await sql`
    insert into memory_vectors (place, number, user_id, model, text_hash, vector)
    select place, number, user_id, model, text_hash, vector from old_vectors order by place`.execute(db)
  await sql`drop table old_vectors`.execute(db)
  const [counter] = rows
  // A place is never reused, even after its vector is deleted.
  if (counter) {
    await sql`delete from sqlite_sequence where name = 'memory_vectors'`.execute(db)
    await sql`insert into sqlite_sequence (name, seq) values ('memory_vectors', ${counter.seq})`.execute(db)
  }
  for (const columns of [['model', 'user_id'], ['text_hash']]) {
    const name = `memory_vectors_by_${columns.join('_')}`
    await db.schema.createIndex(name).on('memory_vectors').columns(columns).execute()
  }
  await sql`
    create trigger memory_vectors_are_replaced before update on memory_vectors begin
      select raise(abort, 'A vector is replaced by deleting it and inserting the new one, not updated');
    end`.execute(db)
}

async function dropVectorsOfLongTexts(db: Kysely<unknown>, engine: MigrationEngine): Promise<void> {
  const bytes = engine.name === 'sqlite' ? sql`length(cast(content as blob))` : sql`octet_length(content)`
  // Scripts without spaces take more bytes and say more in fewer letters.
  const isLong = sql`length(content) > 1500 or (length(content) > 500 and ${bytes} > 2 * length(content))`
  await sql`delete from memory_vectors where number in (select number from memories where ${isLong})`.execute(db)
}

interface OldMemory {
  number: number
  id: string
  user_id: string
  content: string
  title: string | null
  category: string | null
  tags: string
}

const rowsPerPage = 1_000

async function walkMemories(db: Kysely<unknown>, engine: MigrationEngine): Promise<void> {
  for (let last = 0; ; ) {
    const { rows } = await sql<OldMemory>`
      select number, id, user_id, content, title, category, tags from memories
      where number > ${last} order by number limit ${rowsPerPage}`.execute(db)
    for (const { number, id, user_id: userId, content, title, category, tags: json } of rows) {
      const tags = tagsOf(json)
      for (const tag of new Set(tags)) {
        await sql`insert into memory_tags (user_id, tag, number) values (${userId}, ${tag}, ${number})`.execute(db)
      }
      const text = [content, title ?? '', category ?? '', ...tags].filter(Boolean).join('\n')
      // Most texts keep the same words.
      if (foldLetters(text) === text) continue
      for (const collection of ['memories', 'facts']) await engine.reindexText(db, { collection, userId, id, text })
    }
    if (rows.length < rowsPerPage) return
    last = Number(rows.at(-1)?.number)
  }
}

function tagsOf(json: string): string[] {
  if (json === '[]') return []
  const tags = parseAnyJson(json)
  return tags.ok && Array.isArray(tags.value) ? tags.value.filter((tag) => typeof tag === 'string') : []
}
