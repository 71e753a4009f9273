import { join } from 'node:path'
import { expect, test } from 'vitest'
import { appendEvent, numbers, openIn, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'

test('STORE-4 commits do not restart a running copy', async () => {
  using directory = temporaryDirectory()
  const database = await openIn(directory.path)
  await seed(database)
  await database.write(async (writer) => {
    for (const seq of numbers(1, 80)) await appendEvent(writer, seq, 'x'.repeat(200_000))
  })
  const steps: number[] = []
  let copying = true
  const copy = database
    .backup(join(directory.path, 'copy.db'), (done) => steps.push(done))
    .finally(() => {
      copying = false
    })
  for (let seq = 81; copying; seq += 1) await database.write((writer) => appendEvent(writer, seq, 'x'.repeat(5000)))
  await copy
  await database.close()
  expect(steps.length).toBeGreaterThan(4)
  // The page count of a copy that starts again goes down.
  expect(steps).toEqual(steps.toSorted((a, b) => a - b))
})
