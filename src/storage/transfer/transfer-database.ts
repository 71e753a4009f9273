import { sql } from 'kysely'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database } from '../database.ts'
import { copyTable } from './copy-table.ts'
import { type Counters, readCounters, writeCounters } from './counters.ts'
import { type IndexMemory, indexMemories } from './index-memories.ts'
import { differences, readChecksums, type TableChecksum } from './table-checksums.ts'
import { planTables, type TablePlan, type TransferEnd } from './table-plan.ts'
import { beginProgress, endProgress, readProgress, type StepProgress } from './transfer-progress.ts'

export type TransferPhase = 'reading' | 'copying' | 'indexing' | 'checking'

export interface TransferReport {
  tables: TableChecksum[]
  counters: Counters
  /** Rows that an earlier run had moved already. */
  movedBefore: number
}

const textIndex = 'the text index'
const beginAnew = 'Empty the target (delete the file, or drop and create the database) and begin anew.'

/**
 * Moves every row of `source` to `target`, which was opened with `progressMigration` and is empty or what an earlier,
 * interrupted move left. The source must show one state for as long as this runs; it is only read.
 *
 * Interrupted anywhere, it is called again and goes on; until it has resolved, nobody else can open the target. It
 * resolves only where the rows at both ends have the same checksums.
 */
export async function transferDatabase(options: {
  source: TransferEnd
  target: Database
  indexMemory: IndexMemory
  onProgress: (phase: TransferPhase, done: number, total: number) => void
  signal: AbortSignal
}): Promise<TransferReport> {
  const { source, target, indexMemory, signal } = options
  const tables = await planTables(source, target)
  const expected = await readChecksums(source, tables, { signal, ...counting(options, 'reading', 0) })
  const counters = await readCounters(source)
  const progress = await takeUp(target, expected)
  const stepOf = (name: string) => progress.get(name) as StepProgress

  const total = expected.reduce((sum, { rows }) => sum + rows, 0)
  const movedBefore = expected.reduce((sum, { name }) => sum + stepOf(name).done, 0)
  const copying = { signal, ...counting(options, 'copying', total, movedBefore) }
  for (const table of tables) await copyTable({ source, target, table, progress: stepOf(table.name), ...copying })
  await writeCounters(target, counters)

  const indexed = stepOf(textIndex)
  const indexing = { signal, ...counting(options, 'indexing', indexed.rows, indexed.done) }
  const memories = tables.find(({ name }) => name === 'memories') as TablePlan
  await indexMemories({ database: target, memories, progress: indexed, indexMemory, ...indexing })

  const found = await readChecksums(target, tables, { signal, ...counting(options, 'checking', total) })
  const different = differences(expected, found)
  if (different.length > 0) {
    const where = different.join(', ')
    throw new FamiliarError('internal', `What was written is not what was read, in ${where}. ${beginAnew}`)
  }
  // Until PostgreSQL knows how much there is of what, it plans as for empty tables.
  if (target.engine === 'postgres') await target.write((writer) => sql`analyze`.execute(writer))
  await endProgress(target)
  return { tables: found, counters, movedBefore }
}

/** Where an earlier run left it, or at the start. Refuses to go on with what has become another source. */
async function takeUp(target: Database, expected: readonly TableChecksum[]): Promise<Map<string, StepProgress>> {
  const left = await readProgress(target.read)
  if (left.size === 0) {
    const memories = expected.find(({ name }) => name === 'memories')?.rows ?? 0
    await beginProgress(target, [...expected, { name: textIndex, rows: memories, checksum: '' }])
    return await readProgress(target.read)
  }
  const changed = differences(expected, [...left.values()])
  if (changed.length > 0) {
    throw new FamiliarError(
      'conflict',
      `The source is not what it was when this move was begun: it has changed in ${changed.join(', ')}. ${beginAnew}`,
    )
  }
  return left
}

function counting(
  { onProgress }: { onProgress: (phase: TransferPhase, done: number, total: number) => void },
  phase: TransferPhase,
  total: number,
  before = 0,
) {
  let done = before
  return {
    onRows(_table: string, rows: number) {
      done += rows
      onProgress(phase, done, total)
    },
  }
}
