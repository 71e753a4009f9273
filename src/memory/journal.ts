import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import type { Reader, Writer } from '../storage/database.ts'
import type { MemoryChangeRow } from '../storage/tables.ts'
import { type Memories, selectMemories } from './memories.ts'
import type { Memory } from './memory.ts'

const memorySchema = z.object({
  number: z.number(),
  id: z.string(),
  userId: z.string(),
  kind: z.enum(['note', 'fact', 'episode', 'commitment', 'chunk']),
  content: z.string(),
  title: z.string().nullable(),
  category: z.string().nullable(),
  tags: z.array(z.string()),
  tier: z.enum(['short_term', 'long_term']),
  priority: z.number(),
  source: z.enum(['user', 'agent', 'extracted', 'tool', 'import']),
  label: z.enum(['owner', 'internal', 'untrusted']),
  sessionId: z.string().nullable(),
  turnId: z.string().nullable(),
  threadId: z.string().nullable(),
  position: z.number().nullable(),
  passages: z.number(),
  speaker: z.string().nullable(),
  happenedFrom: z.number().nullable(),
  happenedUntil: z.number().nullable(),
  createdAt: z.number(),
  updatedAt: z.number(),
  usedAt: z.number(),
  useCount: z.number(),
  cycle: z.number(),
  supersededAt: z.number().nullable(),
  supersededBy: z.string().nullable(),
}) satisfies z.ZodType<Memory>

const rowSchema = z.record(z.string(), z.union([z.string(), z.number(), z.null()]))
const detailTables = ['facts', 'episodes', 'commitments', 'chunks'] as const

/** A memory with everything attached except its vectors, which are computed again. */
const memoryCopySchema = z.object({
  memory: memorySchema,
  /** At most one: the row of its kind's table. */
  details: z.array(z.object({ table: z.enum(detailTables), row: rowSchema })),
  edges: z.array(rowSchema),
})

export type MemoryCopy = z.infer<typeof memoryCopySchema>

export async function copyMemory(writer: Writer, memory: Memory): Promise<MemoryCopy> {
  const details: MemoryCopy['details'] = []
  for (const table of detailTables) {
    const row = await writer
      .selectFrom(table)
      .selectAll()
      .where('user_id', '=', memory.userId)
      .where('id', '=', memory.id)
      .executeTakeFirst()
    if (row) details.push({ table, row: { ...row } })
  }
  const edges = await writer
    .selectFrom('memory_edges')
    .selectAll()
    .where('user_id', '=', memory.userId)
    .where((where) => where.or([where('source_id', '=', memory.id), where('target_id', '=', memory.id)]))
    .execute()
  return { memory: { ...memory, tags: [...memory.tags] }, details, edges: edges.map((edge) => ({ ...edge })) }
}

/** Under the previous ids. Existing memories return to their earlier state; edges to missing memories are dropped. */
export async function restoreCopies(memories: Memories, writer: Writer, copies: readonly MemoryCopy[]): Promise<void> {
  for (const { memory, details } of copies) {
    const { userId, id } = memory
    const there = await selectMemories(writer, userId).where('id', '=', id).executeTakeFirst()
    if (there) {
      const { number, used_at, use_count } = there
      await memories.replaceIn(writer, { ...memory, number, usedAt: used_at, useCount: use_count })
    } else await memories.insertIn(writer, memory)
    for (const { table, row } of details) {
      await writer.deleteFrom(table).where('user_id', '=', userId).where('id', '=', id).execute()
      if (table === 'chunks' && !(await hasFile(writer, String(row.file_id)))) continue
      // The row has this table's shape: it was read from there.
      await writer
        .insertInto(table)
        .values(row as never)
        .execute()
    }
  }
  for (const edge of copies.flatMap((copy) => copy.edges)) await restoreEdge(writer, edge)
}

async function hasFile(writer: Writer, fileId: string): Promise<boolean> {
  const row = await writer.selectFrom('memory_files').select('id').where('id', '=', fileId).executeTakeFirst()
  return row !== undefined
}

async function restoreEdge(writer: Writer, edge: MemoryCopy['edges'][number]): Promise<void> {
  const ends = [String(edge.source_id), String(edge.target_id)]
  const there = await selectMemories(writer, String(edge.user_id)).where('id', 'in', ends).execute()
  if (there.length < 2) return
  await writer
    .insertInto('memory_edges')
    .values(edge as never)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** One undoable change: the memory's previous state, and what changed with it. */
export interface JournalEntry {
  id: string
  memoryId: string
  action: MemoryChangeRow['action']
  madeBy: MemoryChangeRow['made_by']
  at: number
  undoUntil: number
  copies: [MemoryCopy, ...MemoryCopy[]]
  /** The memory that replaced them; it is removed when they are restored. */
  replacement: string | null
}

/** Previous states of changed or forgotten memories, for 30 days. */
interface MemoryJournal {
  /** Called before the change. Returns the id of the change. */
  record(
    writer: Writer,
    change: { memory: Memory; others: readonly Memory[]; action: JournalEntry['action']; by: JournalEntry['madeBy'] },
  ): Promise<string>
  /** Called after the change, with copies of the previous state. Returns the id of the change. */
  recordReplaced(
    writer: Writer,
    change: { copies: readonly MemoryCopy[]; replacement: string; by: JournalEntry['madeBy'] },
  ): Promise<string>
  /** Newest first, only what can still be undone. A damaged entry cannot. */
  list(
    reader: Reader | Writer,
    userId: string,
    options: { limit: number; id?: string | undefined },
  ): Promise<JournalEntry[]>
  remove(writer: Writer, userId: string, id: string): Promise<void>
  /** Empties what can no longer be undone. Returns the number of such entries, including those emptied before. */
  emptyExpired(writer: Writer): Promise<number>
  removeEmpty(writer: Writer): Promise<void>
}

const undoMs = 30 * 24 * 60 * 60 * 1_000
const dataSchema = z.object({
  memories: z.tuple([memoryCopySchema], memoryCopySchema),
  replacement: z.string().nullable().default(null),
})

export function createMemoryJournal({ clock, ids }: { clock: Clock; ids: Ids }): MemoryJournal {
  return {
    async record(writer, { memory, others, action, by }) {
      const memories: MemoryCopy[] = []
      for (const changed of [memory, ...others]) memories.push(await copyMemory(writer, changed))
      return await insert(writer, { memory, action, by, data: { memories } })
    },

    async recordReplaced(writer, { copies, replacement, by }) {
      const [first] = copies
      if (!first) throw new Error('Nothing was replaced')
      return await insert(writer, {
        memory: first.memory,
        action: 'edited',
        by,
        data: { memories: copies, replacement },
      })
    },

    async list(reader, userId, { limit, id }) {
      let query = reader
        .selectFrom('memory_changes')
        .selectAll()
        .where('user_id', '=', userId)
        .where('undo_until', '>=', clock.now())
      if (id !== undefined) query = query.where('id', '=', id)
      const rows = await query.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.flatMap((row) => entryFromRow(row) ?? [])
    },

    async remove(writer, userId, id) {
      await writer.deleteFrom('memory_changes').where('user_id', '=', userId).where('id', '=', id).execute()
    },

    async emptyExpired(writer) {
      const emptied = await writer
        .updateTable('memory_changes')
        .set({ data: '' })
        .where('undo_until', '<', clock.now())
        .executeTakeFirst()
      return Number(emptied.numUpdatedRows)
    },

    async removeEmpty(writer) {
      await writer.deleteFrom('memory_changes').where('undo_until', '<', clock.now()).where('data', '=', '').execute()
    },
  }

  async function insert(
    writer: Writer,
    change: { memory: Pick<Memory, 'id' | 'userId'>; data: object } & Pick<JournalEntry, 'action'> & {
        by: JournalEntry['madeBy']
      },
  ): Promise<string> {
    const now = clock.now()
    const row: MemoryChangeRow = {
      id: ids.next(),
      user_id: change.memory.userId,
      memory_id: change.memory.id,
      action: change.action,
      made_by: change.by,
      at: now,
      undo_until: now + undoMs,
      data: JSON.stringify(change.data),
    }
    await writer.insertInto('memory_changes').values(row).execute()
    return row.id
  }
}

function entryFromRow(row: MemoryChangeRow): JournalEntry | undefined {
  const data = parseJson(row.data, dataSchema)
  if (!data.ok) return undefined
  return {
    id: row.id,
    memoryId: row.memory_id,
    action: row.action,
    madeBy: row.made_by,
    at: Number(row.at),
    undoUntil: Number(row.undo_until),
    copies: data.value.memories,
    replacement: data.value.replacement,
  }
}
