import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { appendEvent, eventNumbers, openIn, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { systemClock } from '../../base/clock.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import { type RestoreSqliteOptions, restoreSqlite } from './copy-database.ts'

/** Event 1 is in the backup; events 1 and 2 are in the database. */
async function databaseAndBackup(directory: string): Promise<void> {
  const database = await openIn(directory)
  await seed(database)
  await database.write((writer) => appendEvent(writer, 1))
  await database.backup(join(directory, 'backup.db'))
  await database.write((writer) => appendEvent(writer, 2))
  await database.close()
}

function restore(directory: string, options: Partial<RestoreSqliteOptions> = {}) {
  return restoreSqlite({
    backupPath: join(directory, 'backup.db'),
    databasePath: join(directory, 'familiar.db'),
    clock: systemClock(),
    isInUse: () => false,
    ...options,
  })
}

async function eventsIn(path: string): Promise<unknown[]> {
  const raw = new DatabaseSync(path)
  const rows = raw.prepare('select seq from session_events order by seq').all()
  raw.close()
  return rows.map((row) => row.seq)
}

describe('restore', () => {
  test('STORE-4 SEC-20 installs the backup, keeps the old database and the backup', async () => {
    using directory = temporaryDirectory()
    await databaseAndBackup(directory.path)
    chmodSync(join(directory.path, 'backup.db'), 0o644)
    const { keptAside = '' } = await restore(directory.path)
    expect(keptAside).toMatch(/familiar\.db\.before-restore-\d{4}-\d\d-\d\dT[\d-]+\.\d{3}Z$/)
    expect(await eventsIn(keptAside)).toEqual([1, 2])
    expect(await eventsIn(join(directory.path, 'backup.db'))).toEqual([1])
    expect(statSync(join(directory.path, 'familiar.db')).mode & 0o777).toBe(0o600)

    const database = await openIn(directory.path)
    expect(await eventNumbers(database)).toEqual([1])
    expect(await database.checkIntegrity()).toEqual([])
    await database.write((writer) => appendEvent(writer, 2))
    await database.close()
    expect(await eventsIn(keptAside)).toEqual([1, 2])
  })

  test('STORE-4 data in the write-ahead log is kept with the old database and does not leak into the backup', async () => {
    using directory = temporaryDirectory()
    using crashed = temporaryDirectory()
    await databaseAndBackup(directory.path)
    const database = await openIn(directory.path)
    await database.write((writer) => appendEvent(writer, 3))
    for (const name of ['familiar.db', 'familiar.db-wal', 'familiar.db-open', 'backup.db']) {
      cpSync(join(directory.path, name), join(crashed.path, name))
    }
    await database.close()
    const { keptAside = '' } = await restore(crashed.path)
    expect(existsSync(`${keptAside}-wal`)).toBe(false)
    expect(await eventsIn(keptAside)).toEqual([1, 2, 3])
    const restored = await openIn(crashed.path)
    expect(await eventNumbers(restored)).toEqual([1])
    await restored.close()
  })

  test('STORE-4 a log that cannot be merged is moved with its database', async () => {
    using directory = temporaryDirectory()
    await databaseAndBackup(directory.path)
    const path = join(directory.path, 'familiar.db')
    const onlooker = new DatabaseSync(path)
    onlooker.exec("begin; insert into session_events values ('session', 3, 'test', null, 1, '{}'); commit")
    const { keptAside = '' } = await restore(directory.path)
    expect([existsSync(`${path}-wal`), existsSync(`${keptAside}-wal`)]).toEqual([false, true])
    expect(await eventsIn(path)).toEqual([1])
    onlooker.close()
  })

  test('STORE-4 accepts a plain copy of the database file made while Familiar was stopped', async () => {
    using directory = temporaryDirectory()
    await databaseAndBackup(directory.path)
    const backupPath = join(directory.path, 'by-hand.db')
    cpSync(join(directory.path, 'familiar.db'), backupPath)
    const before = readFileSync(backupPath)
    const { keptAside = '' } = await restore(directory.path, { backupPath })
    const expected = ['backup.db', 'by-hand.db', 'familiar.db', basename(keptAside)]
    expect(readdirSync(directory.path).toSorted()).toEqual(expected.toSorted())
    expect(readFileSync(backupPath).equals(before)).toBe(true)
    expect(await eventsIn(join(directory.path, 'familiar.db'))).toEqual([1, 2])
  })

  test('STORE-4 a database too damaged to open is kept with its log', async () => {
    using directory = temporaryDirectory()
    await databaseAndBackup(directory.path)
    const path = join(directory.path, 'familiar.db')
    writeFileSync(path, 'rubbish'.repeat(1000))
    writeFileSync(`${path}-wal`, 'a log that belongs to the rubbish')
    const { keptAside = '' } = await restore(directory.path)
    expect(readFileSync(keptAside, 'utf8')).toMatch(/^rubbish/)
    expect(existsSync(`${path}-wal`)).toBe(false)
    const database = await openIn(directory.path)
    expect(await eventNumbers(database)).toEqual([1])
    await database.close()
  })

  test('STORE-4 restores if there is no database yet', async () => {
    using directory = temporaryDirectory()
    using empty = temporaryDirectory()
    await databaseAndBackup(directory.path)
    const databasePath = join(empty.path, 'familiar.db')
    expect(await restore(directory.path, { databasePath })).toEqual({ keptAside: undefined })
    expect(await eventsIn(databasePath)).toEqual([1])
  })

  test.each<[string, RegExp, (backup: string) => unknown]>([
    ['while Familiar runs', /Stop it/, () => ({ isInUse: async () => true })],
    ['a file that is not there', /no backup at/, () => ({ backupPath: '/nowhere/backup.db' })],
    ['an empty file', /is empty/, (backup) => writeFileSync(backup, '')],
    ['a file of another kind', /is damaged/, (backup) => writeFileSync(backup, 'PK zip'.repeat(1000))],
    ['a torn file', /is damaged/, (backup) => writeFileSync(backup, readFileSync(backup).subarray(0, -20_480))],
    [
      'a file with a bad page',
      /is damaged/,
      (backup) => writeFileSync(backup, readFileSync(backup).fill(0x5a, 12_288, 20_480)),
    ],
    ['a backup of a newer version', /newer version/, () => ({ migrations: allMigrations.slice(0, 1) })],
    ["another program's database", /not a Familiar database/, (backup) => run(backup, 'pragma application_id = 7')],
    ['a broken reference', /is damaged/, (backup) => run(backup, 'delete from users')],
  ])('STORE-4 SEC-20 refuses %s and changes nothing', async (_what, message, spoil) => {
    using directory = temporaryDirectory()
    await databaseAndBackup(directory.path)
    const options = (spoil(join(directory.path, 'backup.db')) ?? {}) as Partial<RestoreSqliteOptions>
    const before = readFileSync(join(directory.path, 'familiar.db'))
    await expect(restore(directory.path, options)).rejects.toThrow(message)
    expect(readFileSync(join(directory.path, 'familiar.db')).equals(before)).toBe(true)
    expect(readdirSync(directory.path).toSorted()).toEqual(['backup.db', 'familiar.db'])
  })
})

function run(path: string, statement: string): void {
  const raw = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  raw.exec(statement)
  raw.close()
}
