import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import { sha256 } from '../../base/ids.ts'
import { parseAnyJson } from '../../base/json.ts'
import type { Migration, MigrationEngine } from './migration.ts'

/** Five kinds of memory around one table; earlier notes become its first rows. */
export const addMemoryTables: Migration = {
  name: '0003-memory',
  async up(db, engine) {
    await createMemories(db, engine)
    await createKinds(db)
    await createFiles(db)
    await createNames(db)
    await createGraphAndVectors(db, engine)
    await createBookkeeping(db)
    // The index contained only notes.
    await engine.replaceTextIndex(db)
    await moveNotes(db, engine)
  },
}

async function createMemories(db: Kysely<unknown>, engine: MigrationEngine): Promise<void> {
  await db.schema
    .createTable('memories')
    .addColumn('number', engine.name === 'postgres' ? 'bigserial' : 'integer', (column) =>
      engine.name === 'postgres' ? column.primaryKey() : column.primaryKey().autoIncrement(),
    )
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('content_hash', 'text', (column) => column.notNull())
    .addColumn('title', 'text')
    .addColumn('category', 'text')
    .addColumn('tags', 'text', (column) => column.notNull())
    .addColumn('tier', 'text', (column) => column.notNull())
    .addColumn('priority', 'double precision', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text')
    .addColumn('turn_id', 'text')
    .addColumn('thread_id', 'text')
    .addColumn('position', 'bigint')
    .addColumn('passages', 'integer', (column) => column.notNull())
    .addColumn('speaker', 'text')
    .addColumn('happened_from', 'bigint')
    .addColumn('happened_until', 'bigint')
    .addColumn('is_standing', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint', (column) => column.notNull())
    .addColumn('use_count', 'integer', (column) => column.notNull())
    .addColumn('cycle', 'bigint', (column) => column.notNull())
    .addColumn('superseded_at', 'bigint')
    .addColumn('superseded_by', 'text')
    .execute()
  await index(db, 'memories', ['user_id', 'content_hash', 'kind'])
  await index(db, 'memories', ['user_id', 'kind', 'created_at', 'id'])
  await index(db, 'memories', ['user_id', 'created_at', 'id'])
  await db.schema
    .createIndex('memories_by_title')
    .on('memories')
    .columns(['user_id', 'title'])
    .where(sql.ref('title'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('memories_standing')
    .on('memories')
    .columns(['user_id', 'number'])
    .where(sql.ref('is_standing'), '=', 1)
    .execute()
  await db.schema
    .createIndex('memories_by_turn')
    .on('memories')
    .columns(['user_id', 'turn_id'])
    .where(sql.ref('turn_id'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('memories_by_place')
    .on('memories')
    .columns(['user_id', 'thread_id', 'position'])
    .where(sql.ref('thread_id'), 'is not', null)
    .execute()
}

async function createKinds(db: Kysely<unknown>): Promise<void> {
  await detailTable(db, 'facts')
    .addColumn('entity', 'text', (column) => column.notNull())
    .addColumn('entity_key', 'text', (column) => column.notNull())
    .addColumn('attribute', 'text', (column) => column.notNull())
    .addColumn('attribute_key', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('value_key', 'text', (column) => column.notNull())
    .addColumn('confidence', 'double precision', (column) => column.notNull())
    .addColumn('valid_from', 'bigint', (column) => column.notNull())
    .addColumn('valid_to', 'bigint')
    .execute()
  await index(db, 'facts', ['user_id', 'entity_key', 'attribute_key', 'valid_from'])
  await index(db, 'facts', ['user_id', 'entity_key', 'valid_from'])
  await index(db, 'facts', ['user_id', 'attribute_key', 'valid_from'])
  await index(db, 'facts', ['user_id', 'value_key', 'attribute_key'])
  await index(db, 'facts', ['user_id', 'valid_from'])

  await detailTable(db, 'episodes')
    .addColumn('topics', 'text', (column) => column.notNull())
    .addColumn('decisions', 'text', (column) => column.notNull())
    .addColumn('tone', 'text')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint', (column) => column.notNull())
    .execute()
  await index(db, 'episodes', ['user_id', 'ended_at'])

  await detailTable(db, 'commitments')
    .addColumn('who', 'text', (column) => column.notNull())
    .addColumn('who_key', 'text', (column) => column.notNull())
    .addColumn('to_whom', 'text')
    .addColumn('to_whom_key', 'text')
    .addColumn('what', 'text', (column) => column.notNull())
    .addColumn('what_key', 'text', (column) => column.notNull())
    .addColumn('deadline', 'bigint')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('closed_at', 'bigint')
    .execute()
  await index(db, 'commitments', ['user_id', 'state', 'deadline'])
  await index(db, 'commitments', ['user_id', 'state', 'closed_at'])
  await index(db, 'commitments', ['user_id', 'what_key', 'state'])
}

async function createFiles(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('memory_files')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('root', 'text', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('content_hash', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('modified_at', 'bigint', (column) => column.notNull())
    .addColumn('indexed_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('memory_files_path', ['user_id', 'path'])
    .execute()
  await detailTable(db, 'chunks')
    .addColumn('file_id', 'text', (column) => column.notNull().references('memory_files.id').onDelete('cascade'))
    .addColumn('first_line', 'integer', (column) => column.notNull())
    .addColumn('last_line', 'integer', (column) => column.notNull())
    .execute()
  await index(db, 'chunks', ['file_id', 'first_line'])
}

async function createNames(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('entity_aliases')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('alias_key', 'text', (column) => column.notNull())
    .addColumn('alias', 'text', (column) => column.notNull())
    .addColumn('entity_key', 'text', (column) => column.notNull())
    .addColumn('entity', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('entity_aliases_key', ['user_id', 'alias_key', 'entity_key'])
    .execute()
  await index(db, 'entity_aliases', ['user_id', 'entity_key'])
  await db.schema
    .createTable('memory_speakers')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('memory_speakers_key', ['user_id', 'name'])
    .execute()
  await db.schema
    .createTable('fact_attributes')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('attribute_key', 'text', (column) => column.notNull())
    .addColumn('is_multi_valued', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('fact_attributes_key', ['user_id', 'attribute_key'])
    .execute()
}

async function createGraphAndVectors(db: Kysely<unknown>, engine: MigrationEngine): Promise<void> {
  await db.schema
    .createTable('memory_edges')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('source_id', 'text', (column) => column.notNull().references('memories.id').onDelete('cascade'))
    .addColumn('target_id', 'text', (column) => column.notNull().references('memories.id').onDelete('cascade'))
    .addColumn('relation', 'text', (column) => column.notNull())
    .addColumn('weight', 'double precision', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('memory_edges_key', ['source_id', 'target_id', 'relation'])
    .execute()
  await index(db, 'memory_edges', ['source_id', 'weight'])
  await index(db, 'memory_edges', ['target_id', 'weight'])
  await index(db, 'memory_edges', ['user_id', 'created_at'])
  await createVectors(db, engine)
}

/**
 * Processes that cache vectors find new ones by their place, which only grows. So a vector is replaced by deleting it
 * and inserting the new one; an update would not be noticed.
 */
async function createVectors(db: Kysely<unknown>, engine: MigrationEngine): Promise<void> {
  await db.schema
    .createTable('memory_vectors')
    .addColumn('place', engine.name === 'postgres' ? 'bigserial' : 'integer', (column) =>
      engine.name === 'postgres' ? column.primaryKey() : column.primaryKey().autoIncrement(),
    )
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('text_hash', 'text', (column) => column.notNull())
    .addColumn('vector', engine.name === 'postgres' ? 'bytea' : 'blob', (column) => column.notNull())
    .addUniqueConstraint('memory_vectors_key', ['number', 'model'])
    .addForeignKeyConstraint('memory_vectors_memory', ['number'], 'memories', ['number'], (key) =>
      key.onDelete('cascade'),
    )
    .execute()
  // SQLite appends the place to every index, so one user's newest vectors are a range of this one.
  await index(db, 'memory_vectors', ['model', 'user_id', ...(engine.name === 'postgres' ? ['place'] : [])])
  await index(db, 'memory_vectors', ['text_hash'])
  if (engine.name === 'sqlite') {
    await sql`
      create trigger memory_vectors_are_replaced before update on memory_vectors begin
        select raise(abort, 'A vector is replaced by deleting it and inserting the new one, not updated');
      end`.execute(db)
  }
}

async function createBookkeeping(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('memory_changes')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('memory_id', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('made_by', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('undo_until', 'bigint', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .execute()
  await index(db, 'memory_changes', ['user_id', 'at'])
  await index(db, 'memory_changes', ['undo_until'])
  await db.schema
    .createTable('memory_marks')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('memory_marks_key', ['user_id', 'name'])
    .execute()
  await db.schema
    .createTable('tool_weights')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('topic', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('weight', 'double precision', (column) => column.notNull())
    .addColumn('calls', 'integer', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('tool_weights_key', ['user_id', 'topic', 'tool'])
    .execute()
  await index(db, 'tool_weights', ['user_id', 'updated_at'])
}

/** The table of one kind: one row per row of `memories`, deleted with it. */
function detailTable(db: Kysely<unknown>, name: string): CreateTableBuilder<string, 'id' | 'user_id'> {
  return db.schema
    .createTable(name)
    .addColumn('id', 'text', (column) => column.primaryKey().notNull().references('memories.id').onDelete('cascade'))
    .addColumn('user_id', 'text', (column) => column.notNull())
}

async function index(db: Kysely<unknown>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}

interface OldTables {
  notes: {
    id: string
    user_id: string
    content: string
    tags: string
    source: string
    session_id: string | null
    turn_id: string | null
    created_at: number
  }
  memories: Record<string, string | number | null>
}

async function moveNotes(db: Kysely<unknown>, engine: MigrationEngine): Promise<void> {
  const old = db as Kysely<OldTables>
  for (const note of await old.selectFrom('notes').selectAll().orderBy('created_at').orderBy('id').execute()) {
    await old
      .insertInto('memories')
      .values({
        ...note,
        kind: 'note',
        content_hash: sha256(note.content).slice(0, 32),
        tier: 'long_term',
        priority: 0.8,
        label: 'owner',
        updated_at: note.created_at,
        used_at: note.created_at,
        use_count: 0,
        passages: 1,
        is_standing: 0,
        cycle: 0,
      })
      .execute()
    const text = [note.content, ...tagsOf(note.tags)].join('\n')
    await engine.indexText(db, { collection: 'memories', userId: note.user_id, id: note.id, text })
  }
  await db.schema.dropTable('notes').execute()
}

function tagsOf(json: string): string[] {
  const tags = parseAnyJson(json)
  return tags.ok && Array.isArray(tags.value) ? tags.value.filter((tag) => typeof tag === 'string') : []
}
