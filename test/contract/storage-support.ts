import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import type { Database, Writer } from '../../src/storage/database.ts'
import { type OpenSqliteOptions, openSqlite, type SqliteDatabase } from '../../src/storage/sqlite/open-sqlite.ts'
import type { CostTotalRow, SessionEventRow } from '../../src/storage/tables.ts'

export interface TemporaryDirectory extends Disposable {
  path: string
}

/** Gone at the end of the block that declares it with `using`. */
export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), 'familiar-storage-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

export function openIn(directory: string, options: Partial<OpenSqliteOptions> = {}): Promise<SqliteDatabase> {
  return openSqlite({
    path: join(directory, 'familiar.db'),
    clock: systemClock(),
    snapshotDirectory: join(directory, 'backups'),
    ...options,
  })
}

/** The user and session that the events of these tests belong to. */
export async function seed(database: Database): Promise<void> {
  await database.write(async (writer) => {
    await writer.insertInto('users').values({ id: 'user', name: 'Ada', role: 'owner', created_at: 1 }).execute()
    await writer
      .insertInto('sessions')
      .values({
        id: 'session',
        user_id: 'user',
        channel: 'test',
        contact: 'ada',
        state: 'active',
        last_seq: 0,
        last_input_tokens: 0,
        created_at: 1,
        updated_at: 1,
      })
      .execute()
  })
}

export async function appendEvent(writer: Writer, seq: number, data = '{}'): Promise<void> {
  await writer.insertInto('session_events').values(event(seq, data)).execute()
}

export function event(seq: number, data = '{}'): SessionEventRow {
  return { session_id: 'session', seq, type: 'test', turn_id: null, at: seq, data }
}

export function total(period: string, spent: number): CostTotalRow {
  return { user_id: 'user', period, spent_nanousd: spent, reserved_nanousd: 0 }
}

export async function eventNumbers(database: Database): Promise<number[]> {
  const rows = await database.read.selectFrom('session_events').select('seq').orderBy('seq').execute()
  return rows.map((row) => row.seq)
}

export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
