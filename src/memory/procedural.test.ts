import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { createProceduralMemory, type ProceduralMemory, type ToolCallOutcome } from './episodes.ts'
import { topicsOf } from './words.ts'

const dayMs = 86_400_000

let store: MemoryStore
let procedural: ProceduralMemory

beforeEach(async () => {
  store = await openMemoryStore()
  procedural = createProceduralMemory(store)
})

afterEach(() => store.close())

async function call(tool: string, userText: string, outcome: ToolCallOutcome, userId = 'max') {
  await procedural.record({ userId, tool, userText, outcome })
}

async function weight(tool: string, topics: string[] = [], userId = 'max') {
  return (await procedural.weights(userId, topics)).get(tool)
}

describe('procedural memory', () => {
  it('MEM-13 weighs each outcome, overall and in its topic', async () => {
    await call('forecast', 'What about the weather?', 'succeeded')
    // Half overall, half in the topic.
    expect(await weight('forecast')).toBeCloseTo(0.15)
    expect(await weight('forecast', ['weather'])).toBeCloseTo(0.3)
    await call('forecast', 'What about the weather?', 'failed')
    expect(await weight('forecast', ['weather'])).toBeCloseTo(0.1)
    await call('forecast', 'What about the weather?', 'timed_out')
    expect(await weight('forecast', ['weather'])).toBeCloseTo(-0.1)
    await call('forecast', 'What about the weather?', 'service_failed')
    expect(await weight('forecast', ['weather'])).toBeCloseTo(-0.15)
  })

  it("MEM-13 a topic's weight counts less in another topic, and not for another user", async () => {
    await call('forecast', 'weather in Lisbon', 'succeeded')
    await call('forecast', 'train delays', 'failed')
    expect(await weight('forecast', ['weather'])).toBeCloseTo(0.5 * 0.1 + 0.5 * 0.3)
    expect(await weight('forecast', ['delay'])).toBeCloseTo(0.5 * 0.1 - 0.5 * 0.2)
    expect(await weight('forecast', ['weather'], 'eve')).toBeUndefined()
  })

  it('MEM-13 weights stay between -1 and 1, and decay', async () => {
    for (let count = 0; count < 20; count += 1) await call('good', 'weather', 'succeeded')
    for (let count = 0; count < 20; count += 1) await call('bad', 'weather', 'failed')
    expect(await weight('good', ['weather'])).toBe(1)
    expect(await weight('bad', ['weather'])).toBe(-1)
    await store.clock.advance(30 * dayMs)
    expect(await weight('good', ['weather'])).toBeCloseTo(0.5)
    await call('good', 'weather', 'failed')
    expect(await weight('good', ['weather'])).toBeCloseTo(0.3)
  })

  it('MEM-13 limits the stored topics: the oldest are deleted', async () => {
    await store.database.write(async (writer) => {
      const rows = Array.from({ length: 2_000 }, (_, index) => ({
        user_id: 'max',
        topic: `topic${index}`,
        tool: 'forecast',
        weight: 0.5,
        calls: 1,
        updated_at: store.clock.now() - 2_000 + index,
      }))
      for (let start = 0; start < rows.length; start += 500) {
        await writer
          .insertInto('tool_weights')
          .values(rows.slice(start, start + 500))
          .execute()
      }
    })
    await call('forecast', 'weather', 'succeeded')
    expect(await weight('forecast', ['topic0'])).toBe(await weight('forecast'))
    expect(await weight('forecast', ['topic1999'])).not.toBe(await weight('forecast'))
    const { count } = await store.database.read
      .selectFrom('tool_weights')
      .select((expression) => expression.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    expect(Number(count)).toBe(2_000)
  })

  it('MEM-13 a topic is a strong word of the request, folded', () => {
    expect(topicsOf('Can you check the weather in Lisbon tomorrow, please?')).toEqual(['weather', 'lisbon'])
    expect(topicsOf('My allergies!')).toEqual(['allergy'])
    expect(topicsOf('')).toEqual([])
    expect(topicsOf('give me 42')).toEqual([])
  })
})
