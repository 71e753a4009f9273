import type { Insertable, Kysely } from 'kysely'
import type { Database, Writer } from '../database.ts'
import { readPages } from './read-pages.ts'
import type { Row } from './row-checksum.ts'
import type { TablePlan, TransferEnd } from './table-plan.ts'
import { advance, type StepProgress } from './transfer-progress.ts'

/** From where it was left; a page and the note that it is there are one unit. */
export async function copyTable(options: {
  source: TransferEnd
  target: Database
  table: TablePlan
  progress: StepProgress
  onRows: (table: string, rows: number) => void
  signal: AbortSignal
}): Promise<void> {
  const { source, target, table, progress, onRows, signal } = options
  const { name } = table
  let { done } = progress
  for await (const { rows, last } of readPages(source, table, progress.last)) {
    signal.throwIfAborted()
    await target.write(async (writer) => {
      await insert(writer, name, rows)
      await advance(writer, { name, done, rows: rows.length, last })
    })
    done += rows.length
    onRows(name, rows.length)
  }
}

async function insert(writer: Writer, table: string, rows: readonly Row[]): Promise<void> {
  const into = writer as unknown as Kysely<Record<string, Row>>
  await into
    .insertInto(table)
    .values(rows as Insertable<Row>[])
    .execute()
}
