import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  appendEvent,
  eventNumbers,
  numbers,
  openIn,
  seed,
  temporaryDirectory,
} from '../../../test/contract/storage-support.ts'
import { readMissingLog } from './connection.ts'
import type { SqliteDatabase } from './open-sqlite.ts'

describe('settings', () => {
  test.each([
    ['journal_mode', 'wal'],
    ['synchronous', 2],
    ['foreign_keys', 1],
    ['busy_timeout', 5000],
    ['query_only', 0],
    ['trusted_schema', 0],
    ['cell_size_check', 1],
    ['wal_autocheckpoint', 1000],
    ['journal_size_limit', 16 * 1024 * 1024],
    ['cache_size', -2000],
    ['mmap_size', 0],
  ])('SEC-20 the writer has %s = %s', async (name, value) => {
    using directory = temporaryDirectory()
    const database = await openTwice(directory.path)
    const rows = await database.write((writer) => sql`pragma ${sql.raw(name)}`.execute(writer))
    expect(Object.values(rows.rows[0] ?? {})).toEqual([value])
    await database.close()
  })

  test.each([
    ['journal_mode', 'wal'],
    ['query_only', 1],
    ['busy_timeout', 5000],
    ['trusted_schema', 0],
    ['cache_size', -4000],
    ['mmap_size', 0],
  ])('SEC-20 the reader has %s = %s', async (name, value) => {
    using directory = temporaryDirectory()
    const database = await openTwice(directory.path)
    const rows = await sql`pragma ${sql.raw(name)}`.execute(database.read)
    expect(Object.values(rows.rows[0] ?? {})).toEqual([value])
    await database.close()
  })

  test('SEC-20 the reader has no transactions of its own', async () => {
    using directory = temporaryDirectory()
    const database = await openIn(directory.path)
    await expect(database.read.transaction().execute(async () => {})).rejects.toThrow(/database.write/)
    await database.close()
  })

  test('SEC-21 every file is accessible to its owner only, whatever the umask', async () => {
    using directory = temporaryDirectory()
    const home = join(directory.path, 'home')
    const umask = process.umask(0)
    try {
      const database = await openIn(home)
      await seed(database)
      await database.backup(join(home, 'copy.db'))
      const names = readdirSync(home)
      expect(names.toSorted()).toEqual(
        ['copy.db', 'familiar.db', 'familiar.db-open', 'familiar.db-shm', 'familiar.db-wal'].toSorted(),
      )
      for (const name of names) expect([name, statSync(join(home, name)).mode & 0o777]).toEqual([name, 0o600])
      expect(statSync(home).mode & 0o777).toBe(0o700)
      await database.close()
    } finally {
      process.umask(umask)
    }
  })
})

test('SEC-21 permissions of a database that others could read are tightened', async () => {
  using directory = temporaryDirectory()
  await (await openIn(directory.path)).close()
  const path = join(directory.path, 'familiar.db')
  chmodSync(path, 0o644)
  await (await openIn(directory.path)).close()
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

describe('the previous shutdown', () => {
  test('STORE-6 a clean shutdown leaves one file and needs no check', async () => {
    using directory = temporaryDirectory()
    const first = await openIn(directory.path)
    await seed(first)
    await first.close()
    expect(readdirSync(directory.path)).toEqual(['familiar.db'])
    const second = await openIn(directory.path)
    expect([first.recoveredFromUncleanStop, second.recoveredFromUncleanStop]).toEqual([false, false])
    await second.close()
  })

  test.each([
    ['the marker and the log', ['familiar.db', 'familiar.db-wal', 'familiar.db-open']],
    ['the log alone', ['familiar.db', 'familiar.db-wal']],
  ])('STORE-6 SEC-20 an unclean shutdown that left %s is detected and nothing is lost', async (_what, names) => {
    using directory = temporaryDirectory()
    using crashed = temporaryDirectory()
    const database = await openIn(directory.path)
    await seed(database)
    for (const seq of numbers(1, 20)) await database.write((writer) => appendEvent(writer, seq))
    // The current state of the disk is the one that a killed process leaves.
    for (const name of names) cpSync(join(directory.path, name), join(crashed.path, name))
    await database.close()

    const again = await openIn(crashed.path)
    expect(again.recoveredFromUncleanStop).toBe(true)
    expect(await eventNumbers(again)).toEqual(numbers(1, 20))
    await again.close()
    const third = await openIn(crashed.path)
    expect(third.recoveredFromUncleanStop).toBe(false)
    await third.close()
  })

  describe('STORE-6 a log that was deleted after a crash', () => {
    /** The state after a killed process, without the log; `change` happens before the next start. */
    async function startAfter(change: (path: string) => void, names = ['familiar.db', 'familiar.db-open']) {
      using directory = temporaryDirectory()
      using crashed = temporaryDirectory()
      const database = await openIn(directory.path)
      await seed(database)
      for (const seq of numbers(1, 20)) await database.write((writer) => appendEvent(writer, seq))
      for (const name of names)
        cpSync(join(directory.path, name), join(crashed.path, name), { preserveTimestamps: true })
      await database.close()
      change(join(crashed.path, 'familiar.db'))
      const next = await openIn(crashed.path)
      const kept = readMissingLog(join(crashed.path, 'familiar.db'))
      await next.close()
      const third = await openIn(crashed.path)
      expect(third.missingLog).toBeUndefined()
      await third.close()
      return { missing: next.missingLog, kept }
    }

    test('is reported once, with the time of the last remaining change', async () => {
      const { missing, kept } = await startAfter(() => undefined)
      expect(missing).toEqual({ since: expect.any(Number) })
      expect(kept).toMatchObject(missing ?? {})
    })

    test('is also reported after the database was opened without a change', async () => {
      const { missing } = await startAfter((path) => {
        const raw = new DatabaseSync(path)
        raw.prepare('select count(*) from sqlite_schema').get()
        raw.close()
      })
      expect(missing).toBeDefined()
    })

    test.each<[string, (path: string) => void, string[]?]>([
      ['is not one that is there', () => undefined, ['familiar.db', 'familiar.db-wal', 'familiar.db-open']],
      [
        'is not one that another program folded into the database',
        foldIn,
        ['familiar.db', 'familiar.db-wal', 'familiar.db-open'],
      ],
      ['is not missed where a backup was put in place', (path) => utimesSync(path, 1, 1)],
      ['is not missed where the marker says nothing', (path) => writeFileSync(`${path}-open`, '')],
    ])('%s', async (_what, change, names) => {
      expect(await startAfter(change, names)).toEqual({ missing: undefined, kept: undefined })
    })

    function foldIn(path: string): void {
      const raw = new DatabaseSync(path)
      raw.prepare('select count(*) from session_events').get()
      raw.close()
      expect(existsSync(`${path}-wal`)).toBe(false)
    }

    test('is also detected at the second start without writes', async () => {
      using directory = temporaryDirectory()
      using crashed = temporaryDirectory()
      await (await openIn(directory.path)).close()
      const database = await openIn(directory.path)
      await database.write(async (writer) => void (await writer.selectFrom('users').selectAll().execute()))
      for (const name of ['familiar.db', 'familiar.db-open']) {
        cpSync(join(directory.path, name), join(crashed.path, name), { preserveTimestamps: true })
      }
      await database.close()
      const next = await openIn(crashed.path)
      expect(next.missingLog).toBeUndefined()
      await next.close()
    })
  })

  async function uncleanDatabase(directory: string, damage: (path: string) => void): Promise<string> {
    const database = await openIn(directory)
    await seed(database)
    await database.write(async (writer) => {
      for (const seq of numbers(1, 500)) await appendEvent(writer, seq, 'x'.repeat(1000))
      for (const seq of numbers(1, 500)) {
        const text = `word${seq} and some more words`
        await database.textSearch.index(writer, { collection: 'notes', userId: 'user', id: String(seq), text })
      }
    })
    await database.close()
    const path = join(directory, 'familiar.db')
    damage(path)
    writeFileSync(`${path}-open`, '')
    return path
  }

  function damageSql(statement: string): (path: string) => void {
    return (path) => {
      const raw = new DatabaseSync(path, { defensive: false, enableForeignKeyConstraints: false })
      raw.exec(statement)
      raw.close()
    }
  }

  test.each([
    ['a page in the middle', (path: string) => overwrite(path, 0.5, 8192)],
    ['the first page', (path: string) => overwrite(path, 0, 100)],
    ['a torn end', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, -40_960))],
    ['an index of words', damageSql('delete from text_index_data where id in (select max(id) from text_index_data)')],
    ['a broken reference', damageSql("insert into session_events values ('nobody', 1, 'test', null, 1, '{}')")],
  ])('STORE-6 SEC-20 damage is found and rejected: %s', async (_what, damage) => {
    using directory = temporaryDirectory()
    const path = await uncleanDatabase(directory.path, damage)
    const before = readFileSync(path)
    await expect(openIn(directory.path)).rejects.toThrow(/is damaged .*no backup .*familiar restore/s)
    expect(readFileSync(path).equals(before)).toBe(true)
    // After the rejection the next start must still treat the shutdown as unclean.
    expect(existsSync(`${path}-open`)).toBe(true)
    await expect(openIn(directory.path)).rejects.toThrow(/is damaged/)
  })

  test('STORE-6 the error names the newest backup', async () => {
    using directory = temporaryDirectory()
    const database = await openIn(directory.path)
    const backups = join(directory.path, 'backups')
    mkdirSync(backups)
    await database.backup(join(backups, 'b-old.db'))
    await database.backup(join(backups, 'a-new.db'))
    utimesSync(join(backups, 'b-old.db'), 1, 1)
    await database.close()
    writeFileSync(
      join(directory.path, 'familiar.db'),
      'not a database at all, and long enough to be looked at'.repeat(99),
    )
    await expect(openIn(directory.path)).rejects.toThrow(/is damaged.*familiar restore .*a-new\.db$/)
  })
})

/** Opened twice, so that there is nothing to migrate. */
async function openTwice(directory: string): Promise<SqliteDatabase> {
  await (await openIn(directory)).close()
  return openIn(directory)
}

function overwrite(path: string, where: number, length: number): void {
  const bytes = readFileSync(path)
  const start = Math.floor((bytes.length * where) / 4096) * 4096
  writeFileSync(path, bytes.fill(0x5a, start, start + length))
}
