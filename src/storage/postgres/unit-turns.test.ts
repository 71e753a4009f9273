import { expect, it } from 'vitest'
import { createUnitTurns } from './write-units.ts'

/** How many of ten tasks that wait for each other start at once. */
async function begunAtOnce(turns: ReturnType<typeof createUnitTurns>): Promise<number> {
  const gate = Promise.withResolvers<void>()
  let begun = 0
  const tasks = Array.from({ length: 10 }, () =>
    turns.shared(() => {
      begun += 1
      return gate.promise
    }),
  )
  await Promise.resolve()
  const atOnce = begun
  gate.resolve()
  await Promise.all(tasks)
  return atOnce
}

it('SCALE-2 conflicting units run one after another, and concurrently again later', async () => {
  const turns = createUnitTurns(8)
  expect(await begunAtOnce(turns)).toBe(8)
  turns.learn('refused')
  expect(await begunAtOnce(turns)).toBe(4)
  for (let refusals = 0; refusals < 5; refusals += 1) turns.learn('refused')
  expect(await begunAtOnce(turns)).toBe(1)
  for (let units = 0; units < 1000; units += 1) turns.learn('done')
  expect(await begunAtOnce(turns)).toBe(8)
})

it('SCALE-2 an exclusive unit runs without others', async () => {
  const turns = createUnitTurns(8)
  const gate = Promise.withResolvers<void>()
  const seen: string[] = []
  const first = turns.shared(() => gate.promise)
  const alone = turns.alone(async () => void seen.push('alone'))
  const after = turns.shared(async () => void seen.push('after'))
  turns.learn('done')
  await Promise.resolve()
  expect(seen).toEqual([])
  gate.resolve()
  await Promise.all([first, alone, after])
  expect(seen).toEqual(['alone', 'after'])
})
