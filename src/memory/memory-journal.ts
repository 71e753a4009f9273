import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import type { Reader, Writer } from '../storage/database.ts'
import type { MemoryChangeRow } from '../storage/tables.ts'
import type { Memory } from './memory.ts'
import { copyMemory, type MemoryCopy, memoryCopySchema } from './memory-copy.ts'

/** One change as it can be undone: what the memory was before, and what went with it. */
export interface JournalEntry {
  id: string
  memoryId: string
  action: MemoryChangeRow['action']
  madeBy: MemoryChangeRow['made_by']
  at: number
  undoUntil: number
  copies: [MemoryCopy, ...MemoryCopy[]]
  /** The memory that took the place of those; it goes where they come back. */
  replacement: string | null
}

/** What was changed or forgotten, as it was before, for 30 days. */
export interface MemoryJournal {
  /** Before the change is made. Returns the id of the change. */
  record(
    writer: Writer,
    change: { memory: Memory; others: readonly Memory[]; action: JournalEntry['action']; by: JournalEntry['madeBy'] },
  ): Promise<string>
  /** After the change was made: the copies are of what was before. Returns the id of the change. */
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
  /** Empties what can no longer be undone. Returns how many there are, those emptied before included. */
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
