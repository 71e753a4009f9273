import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Database } from '../../storage/database.ts'
import type { CommitmentRow, EpisodeRow, FactRow, MemoryEdgeRow } from '../../storage/tables.ts'
import { type Memories, selectMemories } from '../memories.ts'
import { type Memory, type MemoryKind, memoryFromRow } from '../memory.ts'
import { headerText, itemText, sections } from './markdown.ts'
import {
  endOfUtcDay,
  startOfUtcDay,
  type TransferHeader,
  timeText,
  transferVersion,
  type WrittenMemory,
  type WrittenRecord,
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
  const reading: Reading = { database, userId, rowsPerPage: 500 }
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
    switch (holds) {
      case 'alias':
        return readAliases(reading)
      case 'attribute':
        return readAttributes(reading)
      case 'edge':
        return readEdges(reading)
      case 'folder':
        return readFolders()
      default:
        return readMemoriesByDay(reading, holds)
    }
  }

  async function* readFolders(): AsyncGenerator<WrittenRecord> {
    for (const path of await dependencies.folders(userId)) yield { type: 'folder', path }
  }
}

/** Whose records, and how many rows are read at once. Others wait at most for a page. */
interface Reading {
  database: Database
  userId: string
  rowsPerPage: number
}

/** The rows of the kinds' own tables, by memory id. */
interface Details {
  facts: Map<string, FactRow>
  episodes: Map<string, EpisodeRow>
  commitments: Map<string, CommitmentRow>
}

async function readDetails({ database, userId }: Reading, memories: readonly Memory[]): Promise<Details> {
  const ids = memories.map((memory) => memory.id)
  const read = async <Row extends { id: string }>(table: 'facts' | 'episodes' | 'commitments') => {
    const rows = await database.read
      .selectFrom(table)
      .selectAll()
      .where('user_id', '=', userId)
      .where('id', 'in', ids)
      .execute()
    return new Map(rows.map((row) => [row.id, row as unknown as Row]))
  }
  return { facts: await read('facts'), episodes: await read('episodes'), commitments: await read('commitments') }
}

/** A memory in its written form, without nulls and defaults. */
function writtenMemory(memory: Memory, details: Details): WrittenMemory {
  const { id, kind } = memory
  const written: WrittenMemory = {
    type: 'memory',
    id,
    kind,
    content: memory.content,
    title: memory.title ?? undefined,
    category: memory.category ?? undefined,
    tags: memory.tags.length > 0 ? [...memory.tags] : undefined,
    tier: memory.tier,
    priority: memory.priority,
    source: memory.source,
    label: memory.label,
    session_id: memory.sessionId ?? undefined,
    turn_id: memory.turnId ?? undefined,
    thread_id: memory.threadId ?? undefined,
    position: memory.position ?? undefined,
    passages: memory.passages > 1 ? memory.passages : undefined,
    speaker: memory.speaker ?? undefined,
    happened_from: optionalTime(memory.happenedFrom),
    happened_until: optionalTime(memory.happenedUntil),
    created_at: timeText(memory.createdAt),
    updated_at: memory.updatedAt === memory.createdAt ? undefined : timeText(memory.updatedAt),
    used_at: memory.usedAt === memory.createdAt ? undefined : timeText(memory.usedAt),
    use_count: memory.useCount || undefined,
    cycle: memory.cycle || undefined,
    superseded_at: optionalTime(memory.supersededAt),
    superseded_by: memory.supersededBy ?? undefined,
    fact: kind === 'fact' ? writtenFact(details.facts.get(id)) : undefined,
    episode: kind === 'episode' ? writtenEpisode(details.episodes.get(id)) : undefined,
    commitment: kind === 'commitment' ? writtenCommitment(details.commitments.get(id)) : undefined,
  }
  return written
}

function writtenFact(row: FactRow | undefined): WrittenMemory['fact'] {
  return (
    row && {
      entity: row.entity,
      attribute: row.attribute,
      value: row.value,
      confidence: row.confidence,
      valid_from: timeText(row.valid_from),
      valid_to: optionalTime(row.valid_to),
    }
  )
}

function writtenEpisode(row: EpisodeRow | undefined): WrittenMemory['episode'] {
  return (
    row && {
      topics: listFrom(row.topics),
      decisions: listFrom(row.decisions),
      tone: row.tone ?? undefined,
      started_at: timeText(row.started_at),
      ended_at: timeText(row.ended_at),
    }
  )
}

function writtenCommitment(row: CommitmentRow | undefined): WrittenMemory['commitment'] {
  return (
    row && {
      who: row.who,
      to_whom: row.to_whom ?? undefined,
      what: row.what,
      deadline: optionalTime(row.deadline),
      state: row.state,
      closed_at: optionalTime(row.closed_at),
    }
  )
}

function optionalTime(at: number | null): string | undefined {
  return at === null ? undefined : timeText(at)
}

function listFrom(text: string): string[] {
  const list = parseJson(text, z.array(z.string()))
  return list.ok ? list.value : []
}

/** Everything remembered, including history, oldest first. Passages of files are omitted: they come from the files. */
async function* readMemories(reading: Reading): AsyncGenerator<WrittenMemory> {
  let last: { created_at: number; id: string } | undefined
  for (;;) {
    let query = selectExported(reading)
    if (last) {
      const { created_at, id } = last
      query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'id'), '>', tuple(created_at, id)))
    }
    const rows = await query.orderBy('created_at').orderBy('id').limit(reading.rowsPerPage).execute()
    last = rows.at(-1)
    if (!last) return
    yield* writtenPage(reading, rows.map(memoryFromRow))
  }
}

/** Those of one kind, by day and then by id: an order that needs only the day. */
async function* readMemoriesByDay(reading: Reading, kind: MemoryKind): AsyncGenerator<WrittenMemory> {
  let from = Number.MIN_SAFE_INTEGER
  for (;;) {
    const next = await selectExported(reading)
      .where('kind', '=', kind)
      .where('created_at', '>=', from)
      .orderBy('created_at')
      .limit(1)
      .executeTakeFirst()
    if (!next) return
    yield* readDay(reading, kind, next.created_at)
    from = endOfUtcDay(next.created_at)
  }
}

async function* readDay(reading: Reading, kind: MemoryKind, day: number): AsyncGenerator<WrittenMemory> {
  let last = ''
  for (;;) {
    const rows = await selectExported(reading)
      .where('kind', '=', kind)
      .where('created_at', '>=', startOfUtcDay(day))
      .where('created_at', '<', endOfUtcDay(day))
      .where('id', '>', last)
      .orderBy('id')
      .limit(reading.rowsPerPage)
      .execute()
    const end = rows.at(-1)
    if (!end) return
    last = end.id
    yield* writtenPage(reading, rows.map(memoryFromRow))
  }
}

async function* readAliases({ database, userId }: Reading): AsyncGenerator<WrittenRecord> {
  const rows = await database.read
    .selectFrom('entity_aliases')
    .select(['alias', 'entity'])
    .where('user_id', '=', userId)
    .orderBy('alias_key')
    .orderBy('entity_key')
    .execute()
  for (const { alias, entity } of rows) yield { type: 'alias', alias, entity }
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

/** Edges between exported memories. */
async function* readEdges(reading: Reading): AsyncGenerator<WrittenRecord> {
  const { database, userId, rowsPerPage } = reading
  let last: MemoryEdgeRow | undefined
  for (;;) {
    let query = database.read
      .selectFrom('memory_edges')
      .selectAll()
      .where('user_id', '=', userId)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('chunks')
              .select('chunks.id')
              .where((where) =>
                where.or([
                  where('chunks.id', '=', where.ref('memory_edges.source_id')),
                  where('chunks.id', '=', where.ref('memory_edges.target_id')),
                ]),
              ),
          ),
        ),
      )
    if (last) {
      const { source_id, target_id, relation } = last
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('source_id', 'target_id', 'relation'), '>', tuple(source_id, target_id, relation)),
      )
    }
    const rows = await query.orderBy('source_id').orderBy('target_id').orderBy('relation').limit(rowsPerPage).execute()
    last = rows.at(-1)
    if (!last) return
    for (const { source_id, target_id, relation, weight, created_at } of rows) {
      yield { type: 'edge', source_id, target_id, relation, weight, created_at: timeText(created_at) }
    }
    await setImmediate()
  }
}

function selectExported({ database, userId }: Reading) {
  return selectMemories(database.read, userId).where(({ not, exists, selectFrom }) =>
    not(exists(selectFrom('chunks').select('chunks.id').whereRef('chunks.id', '=', 'memories.id'))),
  )
}

async function* writtenPage(reading: Reading, memories: readonly Memory[]): AsyncGenerator<WrittenMemory> {
  const details = await readDetails(reading, memories)
  for (const memory of memories) yield writtenMemory(memory, details)
  await setImmediate()
}
