import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import type { Reader, Writer } from '../storage/database.ts'
import type { MemoryChangeRow } from '../storage/tables.ts'
import { type Memories, selectMemories } from './memories.ts'
import { isRow, type Memory, memorySchema } from './memory.ts'

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
    const row = await writer.selectFrom(table).selectAll().where(isRow(memory.userId, memory.id)).executeTakeFirst()
    if (row) details.push({ table, row: { ...row } })
  }
  const edges = await writer
    .selectFrom('memory_edges')
    .selectAll()
    .where('user_id', '=', memory.userId)
    .where((where) => where.or([where('source_id', '=', memory.id), where('target_id', '=', memory.id)]))
    .execute()
  return { memory, details, edges: edges.map((edge) => ({ ...edge })) }
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
      await writer.deleteFrom(table).where(isRow(userId, id)).execute()
      const file = writer.selectFrom('memory_files').select('id').where('id', '=', String(row.file_id))
      if (table === 'chunks' && !(await file.executeTakeFirst())) continue
      // The row has this table's shape: it was read from there.
      await writer
        .insertInto(table)
        .values(row as never)
        .execute()
    }
  }
  for (const edge of copies.flatMap((copy) => copy.edges)) await restoreEdge(writer, edge)
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

/**
 * One undoable change: the memory's previous state, and what changed with it. `replacement` is the memory that replaced
 * them; it is removed when they are restored.
 */
export type JournalEntry = NonNullable<ReturnType<typeof entryFromRow>>

const undoMs = 30 * 24 * 60 * 60 * 1_000
const dataSchema = z.object({
  memories: z.tuple([memoryCopySchema], memoryCopySchema),
  replacement: z.string().nullable().default(null),
})

interface JournalChange {
  memory: Memory
  others: readonly Memory[]
  action: JournalEntry['action']
  by: JournalEntry['madeBy']
}

/** Previous states of changed or forgotten memories, for 30 days. */
export function createMemoryJournal({ clock, ids }: { clock: Clock; ids: Ids }) {
  return {
    /** Called before the change. Returns the id of the change. */
    async record(writer: Writer, { memory, others, action, by }: JournalChange): Promise<string> {
      const memories = await Array.fromAsync([memory, ...others], (changed) => copyMemory(writer, changed))
      return await insert(writer, { memory, action, by }, { memories })
    },

    /** Called after the change of a user, with copies of the previous state. Returns the id of the change. */
    async recordReplaced(writer: Writer, copies: readonly MemoryCopy[], replacement: string): Promise<string> {
      const [first] = copies
      if (!first) throw new Error('Nothing was replaced')
      const change = { memory: first.memory, action: 'edited', by: 'user' } as const
      return await insert(writer, change, { memories: copies, replacement })
    },

    /** Newest first, only what can still be undone. A damaged entry cannot. */
    async list(
      reader: Reader | Writer,
      userId: string,
      { limit, id }: { limit: number; id?: string | undefined },
    ): Promise<JournalEntry[]> {
      let query = reader
        .selectFrom('memory_changes')
        .selectAll()
        .where('user_id', '=', userId)
        .where('undo_until', '>=', clock.now())
      if (id !== undefined) query = query.where('id', '=', id)
      const rows = await query.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.flatMap((row) => entryFromRow(row) ?? [])
    },

    async remove(writer: Writer, userId: string, id: string): Promise<void> {
      await writer.deleteFrom('memory_changes').where(isRow(userId, id)).execute()
    },

    /** Empties what can no longer be undone. Returns the number of such entries, including those emptied before. */
    async emptyExpired(writer: Writer): Promise<number> {
      const emptied = await writer
        .updateTable('memory_changes')
        .set({ data: '' })
        .where('undo_until', '<', clock.now())
        .executeTakeFirst()
      return Number(emptied.numUpdatedRows)
    },

    async removeEmpty(writer: Writer): Promise<void> {
      await writer.deleteFrom('memory_changes').where('undo_until', '<', clock.now()).where('data', '=', '').execute()
    },
  }

  async function insert(
    writer: Writer,
    { memory, action, by }: Omit<JournalChange, 'others'>,
    data: object,
  ): Promise<string> {
    const now = clock.now()
    const row: MemoryChangeRow = {
      id: ids.next(),
      user_id: memory.userId,
      memory_id: memory.id,
      action,
      made_by: by,
      at: now,
      undo_until: now + undoMs,
      data: JSON.stringify(data),
    }
    await writer.insertInto('memory_changes').values(row).execute()
    return row.id
  }
}

function entryFromRow(row: MemoryChangeRow) {
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
