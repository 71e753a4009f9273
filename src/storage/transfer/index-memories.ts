import type { Database, Writer } from '../database.ts'
import type { MemoryRow } from '../tables.ts'
import { readPages } from './read-pages.ts'
import type { TablePlan } from './table-plan.ts'
import { advance, type StepProgress } from './transfer-progress.ts'

/** Has the words of one memory found; its row is there already. */
export type IndexMemory = (database: Database, writer: Writer, memory: MemoryRow) => Promise<void>

/** The search by words, anew from the rows that were moved, in the order in which the memories came. */
export async function indexMemories(options: {
  database: Database
  memories: TablePlan
  progress: StepProgress
  indexMemory: IndexMemory
  onRows: (table: string, rows: number) => void
  signal: AbortSignal
}): Promise<void> {
  const { database, memories, progress, indexMemory, onRows, signal } = options
  const { name } = progress
  let { done } = progress
  for await (const { rows, last } of readPages(database, memories, progress.last)) {
    signal.throwIfAborted()
    await database.write(async (writer) => {
      for (const row of rows) await indexMemory(database, writer, row as unknown as MemoryRow)
      await advance(writer, { name, done, rows: rows.length, last })
    })
    done += rows.length
    onRows(name, rows.length)
  }
}
