import { type SqlBool, sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import type { MemoryEdgeRow, MemoryRow } from '../../storage/tables.ts'
import { isAfter, type Memories, pagesOf, selectMemories } from '../memories.ts'
import { type MemoryKind, readList } from '../memory.ts'
import { listAliases } from '../names.ts'
import { headerText, itemText, sections } from './markdown.ts'
import {
  commitmentSchema,
  edgeSchema,
  endOfUtcDay,
  episodeSchema,
  factSchema,
  memoryRecordSchema,
  startOfUtcDay,
  type TransferHeader,
  transferVersion,
  type WrittenMemory,
  type WrittenRecord,
  writtenRow,
} from './record.ts'

export type ExportFormat = 'json' | 'markdown'

export interface MemoryExport {
  userId: string
  /**
   * `json`: JSON lines, complete. `markdown`: readable; it keeps the day of a memory, and nothing about its use and its
   * conversation.
   */
  format: ExportFormat
  signal?: AbortSignal | undefined
}

/**
 * Everything remembered for one user, line by line, in an order that depends only on the content. Forgotten memories
 * are not included, even if they could be restored. Indexed files are represented by their folders.
 *
 * It never holds more than a page of rows. Concurrent changes may or may not be included.
 */
export async function* exportRecords(
  dependencies: {
    database: Database
    memories: Memories
    /** The folders and files that the user had indexed. */
    folders(userId: string): Promise<readonly string[]>
  },
  { userId, format, signal }: MemoryExport,
): AsyncGenerator<string> {
  const { database, memories } = dependencies
  const reading: Reading = { database, userId }
  const header: TransferHeader = {
    familiar: 'memories',
    version: transferVersion,
    user: userId,
    cycles: await memories.cycle(userId),
  }
  for await (const line of format === 'json' ? jsonLines() : markdownLines()) {
    signal?.throwIfAborted()
    yield line
  }

  /** Names and attributes first, because the facts that follow depend on them. */
  async function* jsonLines(): AsyncGenerator<string> {
    yield JSON.stringify(header)
    for (const records of [readAttributes, readAliases, readFolders, readMemories, readEdges]) {
      for await (const record of records(reading)) yield JSON.stringify(record)
    }
  }

  async function* markdownLines(): AsyncGenerator<string> {
    yield headerText({ ...header, cycles: 0 })
    yield '# Memories'
    for (const { title, holds } of sections) {
      let isFirst = true
      for await (const record of recordsOf(holds)) {
        if (isFirst) yield* ['', `## ${title}`, '']
        isFirst = false
        yield* itemText(record)
      }
    }
  }

  function recordsOf(holds: (typeof sections)[number]['holds']): AsyncGenerator<WrittenRecord> {
    const readers = { alias: readAliases, attribute: readAttributes, edge: readEdges, folder: readFolders }
    return holds in readers
      ? readers[holds as keyof typeof readers](reading)
      : readMemoriesByDay(reading, holds as MemoryKind)
  }

  async function* readFolders(): AsyncGenerator<WrittenRecord> {
    for (const path of await dependencies.folders(userId)) yield { type: 'folder', path }
  }
}

interface Reading {
  database: Database
  userId: string
}

/** Others wait at most for a page. */
const rowsPerPage = 500

const tablesOfKinds = [
  { kind: 'fact', table: 'facts', schema: factSchema },
  { kind: 'episode', table: 'episodes', schema: episodeSchema },
  { kind: 'commitment', table: 'commitments', schema: commitmentSchema },
] as const

/** Memories in their written form, with the rows of their kinds' own tables, without nulls and defaults. */
async function* writtenPage({ database, userId }: Reading, rows: MemoryRow[]): AsyncGenerator<WrittenMemory> {
  const details = new Map<string, object>()
  for (const { kind, table, schema } of tablesOfKinds) {
    const ids = rows.filter((row) => row.kind === kind).map((row) => row.id)
    if (ids.length === 0) continue
    const own = database.read.selectFrom(table).selectAll().where('user_id', '=', userId).where('id', 'in', ids)
    for (const row of await own.execute()) {
      const lists = 'topics' in row && { topics: readList(row.topics), decisions: readList(row.decisions) }
      details.set(row.id, { [kind]: writtenRow(schema, { ...row, ...lists }) })
    }
  }
  for (const row of rows) {
    const tags = readList(row.tags)
    yield writtenRow(memoryRecordSchema, {
      ...row,
      type: 'memory',
      tags: tags.length > 0 ? tags : null,
      passages: row.passages > 1 ? row.passages : null,
      updated_at: row.updated_at === row.created_at ? null : row.updated_at,
      used_at: row.used_at === row.created_at ? null : row.used_at,
      use_count: row.use_count || null,
      cycle: row.cycle || null,
      ...details.get(row.id),
    })
  }
}

/** Everything remembered, including history, oldest first. Passages of files are omitted: they come from the files. */
async function* readMemories(reading: Reading): AsyncGenerator<WrittenMemory> {
  const pages = pagesOf<MemoryRow>((last) => {
    const query = selectExported(reading).where(isAfter(last))
    return query.orderBy('created_at').orderBy('id').limit(rowsPerPage).execute()
  })
  for await (const page of pages) yield* writtenPage(reading, page)
}

/** Those of one kind, by day and then by id: an order that needs only the day. */
async function* readMemoriesByDay(reading: Reading, kind: MemoryKind): AsyncGenerator<WrittenMemory> {
  const ofKind = selectExported(reading).where('kind', '=', kind)
  let from = Number.MIN_SAFE_INTEGER
  for (;;) {
    const next = await ofKind.where('created_at', '>=', from).orderBy('created_at').limit(1).executeTakeFirst()
    if (!next) return
    const day = startOfUtcDay(next.created_at)
    from = endOfUtcDay(day)
    const ofDay = ofKind.where('created_at', '>=', day).where('created_at', '<', from)
    const pages = pagesOf<MemoryRow>((last) =>
      ofDay
        .where('id', '>', last?.id ?? '')
        .orderBy('id')
        .limit(rowsPerPage)
        .execute(),
    )
    for await (const page of pages) yield* writtenPage(reading, page)
  }
}

async function* readAliases({ database, userId }: Reading): AsyncGenerator<WrittenRecord> {
  for (const alias of await listAliases(database.read, userId)) yield { type: 'alias', ...alias }
}

async function* readAttributes({ database, userId }: Reading): AsyncGenerator<WrittenRecord> {
  const rows = await database.read
    .selectFrom('fact_attributes')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('attribute_key')
    .execute()
  for (const { attribute_key, is_multi_valued } of rows) {
    yield { type: 'attribute', attribute: attribute_key, is_multi_valued: is_multi_valued === 1 }
  }
}

async function* readEdges({ database, userId }: Reading): AsyncGenerator<WrittenRecord> {
  const pages = pagesOf<MemoryEdgeRow>((last) => {
    let query = database.read
      .selectFrom('memory_edges')
      .selectAll()
      .where('user_id', '=', userId)
      .where(sql<SqlBool>`not exists (select id from chunks where id = source_id or id = target_id)`)
    if (last) {
      const { source_id, target_id, relation } = last
      query = query.where(sql<SqlBool>`(source_id, target_id, relation) > (${source_id}, ${target_id}, ${relation})`)
    }
    return query.orderBy('source_id').orderBy('target_id').orderBy('relation').limit(rowsPerPage).execute()
  })
  for await (const page of pages) {
    for (const row of page) yield writtenRow(edgeSchema, { type: 'edge', ...row })
  }
}

function selectExported({ database, userId }: Reading) {
  return selectMemories(database.read, userId).where(
    sql<SqlBool>`not exists (select id from chunks where chunks.id = memories.id)`,
  )
}
