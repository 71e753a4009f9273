import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'

let store: MemoryStore
beforeEach(async () => {
  store = await openMemoryStore()
})
afterEach(() => store.close())

async function work(userId: string, id: string, text: string): Promise<void> {
  await store.database.write(async (writer) => {
    await writer
      .insertInto('spawns')
      .values({
        id,
        user_id: userId,
        parent_session_id: 's',
        parent_turn_id: 't',
        call_id: id,
        depth: 1,
        request: JSON.stringify({ task: text, tools: null, model: 'completed/x' }),
        state: 'done',
        result: JSON.stringify({ outcome: 'completed', text }),
        created_at: 1,
        ended_at: 2,
      })
      .execute()
    await writer
      .insertInto('client_calls')
      .values({
        session_id: 's',
        call_id: id,
        user_id: userId,
        turn_id: 't',
        name: 'save',
        arguments: JSON.stringify({ note: text }),
        state: 'answered',
        result: JSON.stringify({ text, isUntrusted: false }),
        asked_at: 1,
        expires_at: 2,
      })
      .execute()
  })
}

describe('forgetInWork', () => {
  it('MEM-14 removes it from tasks and results of sub-agents and clients', async () => {
    for (let index = 0; index < 150; index += 1) await work('max', `max-${index}`, `Beatrice number ${index}`)
    await work('max', 'kept', 'It is completed')
    await work('eve', 'hers', 'Beatrice again')
    await store.corrections.forgetEverything('max', 'Beatrice')
    const spawns = await store.database.read.selectFrom('spawns').selectAll().execute()
    const calls = await store.database.read.selectFrom('client_calls').selectAll().execute()
    const holding = [...spawns, ...calls].filter((row) => JSON.stringify(row).includes('Beatrice'))
    expect(holding.map(({ user_id }) => user_id)).toEqual(['eve', 'eve'])
    await store.corrections.forgetEverything('max', 'completed')
    const kept = await store.database.read.selectFrom('spawns').selectAll().where('id', '=', 'kept').executeTakeFirst()
    expect(kept?.result).toBe('{"outcome":"completed","text":"[forgotten]"}')
  })
})
