import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { systemClock } from '../../src/base/clock.ts'
import { movedTables, type Row } from '../../src/fleet/transfer/tables.ts'
import {
  progressMigration,
  type TransferPhase,
  type TransferReport,
  transferDatabase,
} from '../../src/fleet/transfer/transfer-database.ts'
import type { Database } from '../../src/storage/database.ts'
import { allMigrations } from '../../src/storage/migrations/all-migrations.ts'
import { openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'

/** `place` is a URL of PostgreSQL or a file; a target is opened for a move. */
export async function openEnd(place: string, { asTarget = false } = {}): Promise<Database> {
  const migrations = asTarget ? [...allMigrations, progressMigration] : allMigrations
  const clock = systemClock()
  if (place.startsWith('postgres:')) return await openPostgres({ url: place, clock, migrations })
  return await openSqlite({ path: place, clock, snapshotDirectory: join(place, '..'), migrations })
}

/** Opens both ends, moves, and closes them. `onProgress` may end it by the signal. */
export async function moveBetween(
  from: string,
  to: string,
  options: Partial<Pick<Parameters<typeof transferDatabase>[0], 'indexMemory'>> & {
    onProgress?: (phase: TransferPhase, stop: () => void) => void
  } = {},
): Promise<TransferReport> {
  const controller = new AbortController()
  await using ends = new AsyncDisposableStack()
  const source = ends.adopt(await openEnd(from), (end) => end.close())
  const target = ends.adopt(await openEnd(to, { asTarget: true }), (end) => end.close())
  return await transferDatabase({
    source,
    target,
    indexMemory: options.indexMemory ?? (async () => {}),
    onProgress: (phase) => options.onProgress?.(phase, () => controller.abort()),
    signal: controller.signal,
  })
}

/** Every row that is moved, by table, in the order of keys. */
export async function readAllRows(place: string): Promise<Map<string, Row[]>> {
  const database = await openEnd(place)
  try {
    const found = new Map<string, Row[]>()
    for (const [table, key] of Object.entries(movedTables)) {
      const rows = await (database.read as unknown as Kysely<Record<string, Row>>)
        .selectFrom(table)
        .selectAll()
        .orderBy(sql.join(key.map((name) => sql.ref(name))))
        .execute()
      found.set(table, rows.map(inOrder))
    }
    return found
  } finally {
    await database.close()
  }
}

function inOrder(row: Row): Row {
  return Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))
}
