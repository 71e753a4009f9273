import { join } from 'node:path'
import fc from 'fast-check'
import { type Insertable, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { appendEvent, numbers, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { anyRows, insertRows, readTableShapes, type TableShape } from '../../../test/support/any-rows.ts'
import { createPostgresDatabase } from '../../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { moveBetween, openEnd, readAllRows } from '../../../test/support/transfer-ends.ts'
import type { Database } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import type { TransferReport } from './transfer-database.ts'

let folder: ReturnType<typeof temporaryDirectory>
let shapes: TableShape[]
let count = 0

beforeAll(async () => {
  folder = temporaryDirectory()
  const database = await openEnd(newFile())
  shapes = await readTableShapes(database)
  await database.close()
})
afterAll(() => folder[Symbol.dispose]())

function newFile(): string {
  count += 1
  return join(folder.path, `${count}.db`)
}

async function fill(place: string, work: (database: Database) => Promise<unknown>): Promise<string> {
  const database = await openEnd(place)
  await work(database)
  await database.close()
  return place
}

const memory: Omit<Insertable<Tables['memories']>, 'id'> = {
  user_id: 'user',
  kind: 'note',
  content: 'The bike is red',
  content_hash: 'hash',
  tags: '[]',
  tier: 'long_term',
  priority: 0.5,
  source: 'user',
  label: 'owner',
  passages: 1,
  is_standing: 0,
  created_at: 1,
  updated_at: 1,
  used_at: 1,
  use_count: 0,
  cycle: 0,
}

async function addMemory(database: Database, id: string): Promise<number> {
  return await database.write(async (writer) => {
    const added = await writer
      .insertInto('memories')
      .values({ ...memory, id })
      .returning('number')
      .executeTakeFirstOrThrow()
    return added.number
  })
}

/** More than a page of small rows, then a few that are pages of their own. */
async function fillPages(database: Database): Promise<void> {
  await seed(database)
  await database.write(async (writer) => {
    for (const seq of numbers(1, 700)) await appendEvent(writer, seq, `\0 ${seq}`)
    for (const seq of numbers(701, 703)) await appendEvent(writer, seq, '👍'.repeat(300_000))
  })
  for (const number of numbers(1, 3)) await addMemory(database, `memory-${number}`)
}

describe('from file to file', () => {
  test('SCALE-3 stopped after every few pages, it continues where it was and repeats nothing', async () => {
    const [source, target] = [await fill(newFile(), fillPages), newFile()]
    const indexed: string[] = []
    let runs = 0
    let report: TransferReport | undefined
    while (!report) {
      runs += 1
      let pages = 0
      report = await moveBetween(source, target, {
        indexMemory: async (_database, _writer, { id }) => void indexed.push(id),
        onProgress(phase, stop) {
          if (phase === 'copying' || phase === 'indexing') pages += 1
          if (pages === 2) stop()
        },
      }).catch((error) => {
        if (error.name !== 'AbortError') throw error
        return undefined
      })
    }
    expect(runs).toBeGreaterThan(3)
    expect(report.movedBefore).toBeGreaterThan(700)
    expect(indexed).toEqual(['memory-1', 'memory-2', 'memory-3'])
    expect(await readAllRows(target)).toEqual(await readAllRows(source))
  })

  test('SCALE-3 does not continue with a changed source, and names the change', async () => {
    const [source, target] = [await fill(newFile(), fillPages), newFile()]
    const stopped = moveBetween(source, target, { onProgress: (phase, stop) => phase === 'copying' && stop() })
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
    await fill(source, (database) =>
      database.write((writer) =>
        writer.updateTable('session_events').set({ data: 'other' }).where('seq', '=', 9).execute(),
      ),
    )
    await expect(moveBetween(source, target)).rejects.toThrow(
      /has changed since this move started, in session_events\. Empty the target/,
    )
  })

  test('SCALE-3 an incomplete target cannot be opened', async () => {
    const [source, target] = [await fill(newFile(), fillPages), newFile()]
    const stopped = moveBetween(source, target, { onProgress: (phase, stop) => phase === 'checking' && stop() })
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
    await expect(openEnd(target)).rejects.toThrow(/familiar migrate.*continues where it stopped/)
    await moveBetween(source, target)
    await (await openEnd(target)).close()
  })

  test('SCALE-3 a row that arrived otherwise is found, and the target stays unusable', async () => {
    const [source, target] = [await fill(newFile(), fillPages), newFile()]
    const damaged = moveBetween(source, target, {
      indexMemory: async (_database, writer) => {
        await writer.updateTable('sessions').set({ last_seq: 7 }).execute()
      },
    })
    await expect(damaged).rejects.toThrow('The copied rows differ from the source in sessions. Empty the target')
    await expect(openEnd(target)).rejects.toThrow(/is incomplete/)
  })

  test.each([
    ['a table', sql`create table surprise (id text primary key)`, /^The table surprise cannot be moved/],
    ['a column', sql`alter table pins add column surprise text`, /^The table pins differs between source and target/],
  ])('SCALE-3 %s that the program does not know is not left behind unnoticed', async (_what, change, message) => {
    const source = await fill(newFile(), (database) => database.write((writer) => change.execute(writer)))
    await expect(moveBetween(source, newFile())).rejects.toThrow(message)
  })
})

describe.skipIf(whyNoPostgres())('to PostgreSQL and back', () => {
  const runs = process.env.FAMILIAR_TEST_ALL ? 40 : 1

  test(
    'SCALE-3 rows with any content are the same in both directions',
    async () => {
      await fc.assert(
        fc.asyncProperty(anyRows(shapes, 3), async (rows) => {
          await using server = await createPostgresDatabase({ migrated: true })
          const source = await fill(newFile(), (database) => insertRows(database, rows))
          const back = newFile()
          const there = await moveBetween(source, server.url)
          const again = await moveBetween(server.url, back)
          expect(there.tables.map((table) => table.rows)).toEqual(shapes.map(() => 3))
          expect(again).toEqual(there)
          const expected = await readAllRows(source)
          expect(await readAllRows(server.url)).toEqual(expected)
          expect(await readAllRows(back)).toEqual(expected)
        }),
        { numRuns: runs, endOnFailure: true },
      )
    },
    runs * 60_000,
  )

  test('SCALE-3 stopped and resumed, in both directions', async () => {
    await using server = await createPostgresDatabase({ migrated: true })
    const source = await fill(newFile(), fillPages)
    const back = newFile()
    const ways = [
      [source, server.url],
      [server.url, back],
    ] as const
    for (const [from, to] of ways) {
      let pages = 0
      const stopped = moveBetween(from, to, {
        onProgress(phase, stop) {
          if (phase === 'copying') pages += 1
          if (pages === 5) stop()
        },
      })
      await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
      if (to === server.url) await expect(openEnd(to)).rejects.toThrow(/is incomplete/)
      expect((await moveBetween(from, to)).movedBefore).toBeGreaterThan(400)
    }
    expect(await readAllRows(back)).toEqual(await readAllRows(source))
  })

  test('SCALE-3 a number that was given once is not given again, even when its row is gone', async () => {
    await using server = await createPostgresDatabase({ migrated: true })
    const removeNewest = async (database: Database) => {
      await addMemory(database, 'removed')
      await database.write((writer) => writer.deleteFrom('memories').where('id', '=', 'removed').execute())
    }
    const source = await fill(newFile(), async (database) => {
      await seed(database)
      await addMemory(database, 'first')
      await removeNewest(database)
    })
    expect((await moveBetween(source, server.url)).counters).toEqual({ memories: 2, memory_vectors: 0 })
    await fill(server.url, async (database) => {
      expect(await addMemory(database, 'third')).toBe(3)
      await removeNewest(database)
    })
    const back = newFile()
    await moveBetween(server.url, back)
    await fill(back, async (database) => expect(await addMemory(database, 'fifth')).toBe(5))
  })

  test('SCALE-3 distinctions that only PostgreSQL makes are no difference', async () => {
    await using server = await createPostgresDatabase({ migrated: true })
    await fill(server.url, async (database) => {
      await seed(database)
      await addMemory(database, 'zero')
      await database.write((writer) => sql`update memories set priority = '-0'::float8`.execute(writer))
    })
    await moveBetween(server.url, newFile())
  })
})
