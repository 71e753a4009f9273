import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { createPostgresDatabase } from '../../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { openEnd } from '../../../test/support/transfer-ends.ts'
import type { Database } from '../../storage/database.ts'
import { openSource, openTarget, readPlace } from './migrate.ts'

async function fill(place: string, work: (database: Database) => Promise<unknown>): Promise<void> {
  const database = await openEnd(place)
  await work(database)
  await database.close()
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

describe('a file', () => {
  test('SCALE-3 that is not there is no source, and is not made', async () => {
    using directory = temporaryDirectory()
    const missing = readPlace(join(directory.path, 'missing.db'))
    await expect(openSource(missing)).rejects.toThrow(/There is no database at .*missing\.db/)
    expect(readdirSync(directory.path)).toEqual([])
  })

  test('SCALE-3 of an earlier version is not brought up to date by moving it', async () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'old.db')
    await fill(path, (database) =>
      database.write((writer) => sql`delete from schema_migrations where name > '0007'`.execute(writer)),
    )
    const before = hashOf(path)
    await expect(openSource(readPlace(path))).rejects.toMatchObject({
      message: expect.stringMatching(/earlier version.*0008-page/),
      hint: expect.stringContaining('familiar status'),
    })
    expect(hashOf(path)).toBe(before)
  })

  test('SCALE-3 that holds something is no target, and stays as it is', async () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'used.db')
    await fill(path, seed)
    const before = hashOf(path)
    await expect(openTarget(readPlace(path))).rejects.toMatchObject({
      message: expect.stringMatching(/is not empty: there are rows in (users|sessions)\. Nothing was changed\.$/),
      hint: expect.stringContaining(`mv ${path}`),
    })
    expect(hashOf(path)).toBe(before)
  })

  test('SCALE-3 of another program is neither', async () => {
    using directory = temporaryDirectory()
    const place = readPlace(join(directory.path, 'other.db'))
    const { DatabaseSync } = await import('node:sqlite')
    const other = new DatabaseSync(join(directory.path, 'other.db'))
    other.exec('create table thing (id integer)')
    other.close()
    await expect(openSource(place)).rejects.toThrow(/is not a Familiar database/)
    await expect(openTarget(place)).rejects.toThrow(/is not a Familiar database/)
  })
})

describe.skipIf(whyNoPostgres())('a server', () => {
  test('SCALE-3 with a Familiar connected to it is not read; with rows it is no target', async () => {
    await using server = await createPostgresDatabase({ migrated: true })
    const place = readPlace(server.url)
    const database = await openEnd(server.url)
    await seed(database)
    await expect(openSource(place)).rejects.toThrow(/is in use by a running Familiar\. Stop every daemon/)
    await database.close()
    await expect(openTarget(place)).rejects.toThrow(/is not empty: there are rows in (users|sessions)\./)
    await (await openSource(place)).close()
  })

  test('SCALE-3 a source cannot be written to', async () => {
    await using server = await createPostgresDatabase({ migrated: true })
    await fill(server.url, seed)
    const source = await openSource(readPlace(server.url))
    await expect(source.read.deleteFrom('users').execute()).rejects.toThrow(/read-only/)
    await source.close()
  })
})
