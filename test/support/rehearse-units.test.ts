import { expect, it } from 'vitest'
import { appendEvent, eventNumbers, openIn, seed, temporaryDirectory } from '../contract/storage-support.ts'
import { rehearseUnits } from './rehearse-units.ts'

it('SCALE-2 a rehearsed unit is run twice and stored once', async () => {
  using directory = temporaryDirectory()
  const plain = await openIn(directory.path)
  await seed(plain)
  const database = rehearseUnits(plain)
  let runs = 0
  const value = await database.write(async (writer) => {
    runs += 1
    await appendEvent(writer, 1)
    return 'done'
  })
  expect([value, runs]).toEqual(['done', 2])
  expect(await eventNumbers(plain)).toEqual([1])
  await expect(database.write((writer) => appendEvent(writer, 1))).rejects.toMatchObject({ code: 'conflict' })
  await database.close()
})
