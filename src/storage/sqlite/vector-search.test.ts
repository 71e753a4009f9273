import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openIn, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { addVectors } from '../../../test/contract/vector-search-support.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { waitFor } from '../../../test/support/wait-for.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { VectorSearch } from '../database.ts'
import { createSqliteVectorSearch } from './open-sqlite.ts'

const question = { userId: 'user', model: 'one', vector: Float32Array.of(1, 0), limit: 1 }
const minute = 60_000

async function openWithVector(directory: string) {
  const database = await openIn(directory)
  await seed(database)
  await addVectors(database, [{ vector: [1, 0], userId: 'user' }])
  return database
}

/** The last connection deletes the write-ahead log on closing; a thread that still holds one keeps it. */
async function isLetGo(directory: string, close: () => Promise<void>): Promise<boolean> {
  await close()
  return !existsSync(join(directory, 'familiar.db-wal'))
}

async function searchIn(
  directory: string,
  use: (search: VectorSearch, clock: ReturnType<typeof createManualClock>) => Promise<void>,
) {
  const clock = createManualClock()
  const search = createSqliteVectorSearch({ path: join(directory, 'familiar.db'), clock })
  try {
    await use(search, clock)
  } finally {
    await search.close()
  }
}

it('MEM-15 starts nothing before the first search, and releases everything on close', async () => {
  using directory = temporaryDirectory()
  const database = await openWithVector(directory.path)
  await searchIn(directory.path, async (search) => {
    expect(await search.search(question)).toHaveLength(1)
  })
  expect(await isLetGo(directory.path, database.close)).toBe(true)
  await searchIn(directory.path, async () => {})
})

it('MEM-15 stops after five idle minutes, and starts again with the next question', async () => {
  using directory = temporaryDirectory()
  let database = await openWithVector(directory.path)
  await searchIn(directory.path, async (search, clock) => {
    await search.search(question)
    await clock.advance(4 * minute)
    await search.search(question)
    await clock.advance(4 * minute)
    expect(await isLetGo(directory.path, database.close)).toBe(false)
    await clock.advance(minute)
    await waitFor(async () => {
      database = await openIn(directory.path)
      expect(await isLetGo(directory.path, database.close)).toBe(true)
    })
    database = await openIn(directory.path)
    expect(await search.search(question)).toHaveLength(1)
    await database.close()
  })
})

it('MEM-15 a thread that dies causes an error with a reason, and the next question starts another', async () => {
  using directory = temporaryDirectory()
  await searchIn(directory.path, async (search) => {
    const answers = await Promise.allSettled([search.search(question), search.search(question)])
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'internal' } })
      expect(answer.status === 'rejected' && answer.reason).toBeInstanceOf(FamiliarError)
      expect(answer.status === 'rejected' && answer.reason.message).toContain('unable to open database file')
    }
    const database = await openWithVector(directory.path)
    expect(await search.search(question)).toHaveLength(1)
    await search.close()
    await database.close()
  })
})
