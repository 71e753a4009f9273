import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openIn, type TemporaryDirectory, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { addVectors, randomVector } from '../../../test/contract/vector-search-support.ts'
import type { Database } from '../database.ts'
import { createSqliteVectorSource } from '../sqlite/sqlite-vector-source.ts'
import { createPlainKernel } from './kernels.ts'
import { createStoredVectors } from './stored-vectors.ts'

let directory: TemporaryDirectory
let database: Database
let raw: DatabaseSync

beforeEach(async () => {
  directory = temporaryDirectory()
  database = await openIn(directory.path)
  raw = new DatabaseSync(join(directory.path, 'familiar.db'), { readOnly: true })
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: 1 }))
    await writer.insertInto('users').values(users).execute()
  })
})
afterEach(async () => {
  raw.close()
  await database.close()
  directory[Symbol.dispose]()
})

const question = { userId: 'max', model: 'one', vector: Float32Array.of(1, 0), limit: 5 }

/** Counts how often each set was read again, by the kernels made for them. */
function countingKernel() {
  const counting = {
    made: 0,
    createKernel() {
      counting.made += 1
      return createPlainKernel()
    },
  }
  return counting
}

it('MEM-15 keeps the vectors of several users in memory, and above its limit only the latest', async () => {
  await addVectors(database, [[1, 0], { vector: [1, 0], userId: 'eve' }])
  for (const [memoryBytes, expected] of [
    [1e9, 2],
    [1, 6],
  ] as const) {
    const kernels = countingKernel()
    const stored = createStoredVectors(createSqliteVectorSource(raw), {
      memoryBytes,
      exactLimit: 100,
      createKernel: kernels.createKernel,
    })
    for (const userId of ['max', 'eve', 'eve', 'max', 'eve', 'max', 'eve']) {
      expect(await stored.search({ ...question, userId })).toHaveLength(1)
    }
    expect(kernels.made).toBe(expected)
  }
})

it('MEM-15 reads a set once, whatever is added and deleted', async () => {
  const kernels = countingKernel()
  const stored = createStoredVectors(createSqliteVectorSource(raw), {
    memoryBytes: 1e9,
    exactLimit: 1e6,
    createKernel: kernels.createKernel,
  })
  // More than one page at once.
  await addVectors(
    database,
    Array.from({ length: 4500 }, (_, index) => randomVector(index, 2)),
  )
  expect(await stored.search({ ...question, limit: 5000 })).toHaveLength(4500)
  await addVectors(database, [[1, 0]])
  await database.write((writer) => writer.deleteFrom('memories').where('number', '<', 100).execute())
  expect(await stored.search({ ...question, limit: 5000 })).toHaveLength(4402)
  expect(kernels.made).toBe(1)
})

it('MEM-15 the error names a stored vector with unexpected dimensions', async () => {
  const [, odd] = await addVectors(database, [
    [1, 0],
    [1, 0, 0],
  ])
  const stored = createStoredVectors(createSqliteVectorSource(raw), { memoryBytes: 1e9, exactLimit: 100 })
  const said = `The vector of memory ${odd} has 3 dimensions, but others of one have 2.`
  await expect(stored.search(question)).rejects.toThrow(said)
})

it('MEM-15 rejects updating a vector', async () => {
  await addVectors(database, [[1, 0]])
  const update = database.write((writer) => writer.updateTable('memory_vectors').set({ text_hash: 'x' }).execute())
  await expect(update).rejects.toThrow('not updated')
})
