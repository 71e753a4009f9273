import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { testSize } from '../../test/support/test-size.ts'
import { eventFromRow } from '../agent/sessions/session-event.ts'
import type { NewMemory } from './memory.ts'

let store: MemoryStore

beforeEach(async () => {
  store = await openMemoryStore()
  await addSession('max')
  await addSession('eve')
})

afterEach(() => store.close())

async function addSession(userId: string): Promise<void> {
  await store.database.write(async (writer) => {
    await writer
      .insertInto('sessions')
      .values({
        id: `${userId}-session`,
        user_id: userId,
        channel: 'test',
        contact: '',
        state: 'active',
        last_seq: 0,
        last_input_tokens: 0,
        created_at: 1,
        updated_at: 1,
      })
      .execute()
  })
}

/** A message becomes an event, an inbox row and part of a snapshot. */
async function say(userId: string, seq: number, text: string): Promise<void> {
  const message = { text, media: [], sender: userId, source: 'test', tier: 'owner', metadata: {} }
  const id = `${userId}-${seq}`
  await store.database.write(async (writer) => {
    const event = { session_id: `${userId}-session`, seq, turn_id: null, at: seq, type: 'message_received' }
    await writer
      .insertInto('session_events')
      .values({ ...event, data: JSON.stringify({ messageId: id, ...message }) })
      .execute()
    const data = JSON.stringify({ immediate: false, ...message })
    await writer
      .insertInto('inbox')
      .values({
        id,
        user_id: userId,
        session_id: `${userId}-session`,
        key: id,
        body_hash: '',
        state: 'done',
        turn_id: null,
        received_at: seq,
        data,
      })
      .execute()
    const snapshot = { session_id: `${userId}-session`, seq, hash: '', data }
    await writer
      .insertInto('session_snapshots')
      .values(snapshot)
      .onConflict((conflict) => conflict.column('session_id').doUpdateSet({ seq, data }))
      .execute()
  })
}

async function said(userId: string): Promise<string[]> {
  const rows = await store.database.read
    .selectFrom('session_events')
    .selectAll()
    .where('session_id', '=', `${userId}-session`)
    .orderBy('seq')
    .execute()
  return rows.map((row) => {
    const event = eventFromRow(row)
    return event?.type === 'message_received' ? event.text : 'damaged'
  })
}

async function add(content: string, more: Partial<NewMemory> = {}) {
  const memory: NewMemory = { userId: 'max', kind: 'note', content, source: 'user', ...more }
  return (await store.memories.add(memory)).memory
}

const fact = (entity: string, attribute: string, value: string, userId = 'max') =>
  store.facts.write({ userId, entity, attribute, value, source: 'user' })

describe('forgetting everything', () => {
  it('MEM-14 leaves no trace of it in the file, and keeps the rest', { timeout: 120_000 }, async () => {
    const size = testSize({ whole: 300, onPostgres: 60 })
    for (let index = 0; index < size; index += 1) {
      const about = index % 10 === 0 ? ' Zanzibarquux ' : ' '
      await add(`Filler ${index}${about}${'and so on '.repeat(index % 40)}`, { tags: [`tag${index}${about}`] })
      await store.aliases.add('max', `Name ${(index * 7919) % 300}${about}`, `Entity ${index % 50}`)
      await fact(`Entity ${(index * 7919) % 300}`, 'likes', `thing ${index}${about}${'x'.repeat(index % 60)}`)
      await say('max', index + 1, `Message ${index}${about}${'blah '.repeat((index % 10) * 100)}`)
    }
    const result = await store.corrections.forgetEverything('max', 'zanzibarquux')
    expect(await store.placesHolding('Zanzibarquux')).toEqual([])
    expect(result).toEqual({ memories: size / 5, events: size / 10 })
    expect(await said('max')).toHaveLength(size)
    expect((await said('max')).filter((text) => text === '[forgotten]')).toHaveLength(size / 10)
    expect(await store.memories.list('max', { limit: 1_000 })).toHaveLength((size * 9) / 5)
    expect(await store.database.checkIntegrity()).toEqual([])
  })

  it('MEM-14 removes memories of every kind, names, the journal, files, marks and snapshots', async () => {
    const kept = await add('The bees are fine')
    const note = await add('Beatrice called')
    await add('called twice', { tags: ['beatrice'] })
    await add('titled', { title: 'On Beatrice' })
    await add('filed', { category: 'Beatrice' })
    await add('I said so', { kind: 'chunk', speaker: 'Beatrice' })
    const forgotten = await add('Beatrice is forgotten already')
    await store.corrections.forget('max', forgotten.id, 'user')
    await fact('Beatrice', 'job', 'baker')
    await fact('Carl', 'sister', 'Beatrice')
    await store.facts.declareMultiValued('max', 'Beatrice number')
    await store.commitments.add({ userId: 'max', who: 'user', toWhom: 'Beatrice', what: 'a call', source: 'user' })
    await store.database.write(async (writer) => {
      await store.episodes.addIn(writer, {
        userId: 'max',
        summary: 'A talk',
        topics: ['Beatrice'],
        decisions: [],
        tone: null,
        startedAt: 1,
        endedAt: 2,
        source: 'extracted',
      })
      const file = { user_id: 'max', root: '/docs', content_hash: '', bytes: 1, modified_at: 1, indexed_at: 1 }
      await writer
        .insertInto('memory_files')
        .values([
          { ...file, id: 'hers', path: '/docs/beatrice.md' },
          { ...file, id: 'other', path: '/docs/other.md' },
        ])
        .execute()
      const weight = { user_id: 'max', tool: 'call', weight: 0.3, calls: 1, updated_at: 1 }
      await writer
        .insertInto('tool_weights')
        .values([
          { ...weight, topic: '' },
          { ...weight, topic: 'beatrice' },
          { ...weight, topic: 'weather' },
        ])
        .execute()
      const mark = { user_id: 'max', updated_at: 1 }
      await writer
        .insertInto('memory_marks')
        .values([
          { ...mark, name: 'file:/docs/beatrice.md', value: '' },
          { ...mark, name: 'other', value: '7' },
        ])
        .execute()
    })
    const passage = await add('a passage without the name', { kind: 'chunk', source: 'import' })
    await store.database.write(async (writer) => {
      await writer
        .insertInto('chunks')
        .values({ id: passage.id, user_id: 'max', file_id: 'hers', first_line: 1, last_line: 2 })
        .execute()
    })
    await store.graph.link('max', { sourceId: note.id, targetId: kept.id, relation: 'about', weight: 1 })
    await store.aliases.add('max', 'Bea', 'Beatrice')
    await add('Bea likes cake')
    await say('max', 1, 'Bea wrote')
    await say('max', 2, 'nothing new')

    const result = await store.corrections.forgetEverything('max', 'Beatrice')
    expect(result).toEqual({ memories: 11, events: 1 })
    expect((await store.memories.list('max', { limit: 100 })).map(({ content }) => content)).toEqual([kept.content])
    expect(await store.corrections.changes('max', 10)).toEqual([])
    expect(await store.aliases.list('max')).toEqual([])
    expect(await said('max')).toEqual(['[forgotten]', 'nothing new'])
    expect(store.changedSessions).toEqual(['max-session'])
    for (const word of ['Beatrice', 'wrote', 'cake']) expect(await store.placesHolding(word)).toEqual([])
    const left = await Promise.all([
      store.database.read.selectFrom('memory_files').select('id').execute(),
      store.database.read.selectFrom('memory_marks').select('name').execute(),
      store.database.read.selectFrom('fact_attributes').selectAll().execute(),
      store.database.read.selectFrom('session_snapshots').selectAll().execute(),
      store.database.read.selectFrom('memory_edges').selectAll().execute(),
      store.database.read.selectFrom('tool_weights').select('topic').execute(),
    ])
    const topics = [{ topic: '' }, { topic: 'weather' }]
    expect(left).toEqual([[{ id: 'other' }], [{ name: 'other' }], [], [], [], topics])
  })

  it("MEM-14 keeps other users' data, and another person of the same name", async () => {
    await add('Beatrice called', { userId: 'eve' })
    await fact('Beatrice', 'job', 'baker', 'eve')
    await store.aliases.add('eve', 'Bea', 'Beatrice')
    await say('eve', 1, 'Beatrice wrote')
    await store.aliases.add('max', 'Anna', 'Anna (sister)')
    await store.aliases.add('max', 'Anna', 'Anna (colleague)')
    await add('Anna (sister) sings')
    await add('Anna (colleague) sings')
    await store.corrections.forgetEverything('max', 'Beatrice')
    await store.corrections.forgetEverything('max', 'Anna (sister)')
    expect(await store.memories.list('eve', { limit: 10 })).toHaveLength(2)
    expect(await said('eve')).toEqual(['Beatrice wrote'])
    expect(await store.aliases.list('eve')).toHaveLength(1)
    expect(await store.database.read.selectFrom('session_snapshots').select('session_id').execute()).toHaveLength(1)
    expect((await store.memories.list('max', { limit: 10 })).map(({ content }) => content)).toEqual([
      'Anna (colleague) sings',
    ])
  })

  it('MEM-14 requires a subject, and stops on abort', async () => {
    for (const about of ['', ' ', 'x']) {
      await expect(store.corrections.forgetEverything('max', about)).rejects.toMatchObject({ code: 'bad_request' })
    }
    await add('Beatrice called')
    await expect(store.corrections.forgetEverything('max', 'Beatrice', AbortSignal.abort())).rejects.toThrow()
    expect(await store.memories.list('max', { limit: 10 })).toHaveLength(1)
  })

  it('MEM-14 forgetting a number keeps unrelated counts', async () => {
    for (let cycle = 0; cycle < 12; cycle += 1) await store.memories.nextCycle('max')
    await add('I have 12 cats')
    expect(await store.corrections.forgetEverything('max', '12')).toEqual({ memories: 1, events: 0 })
    expect(await store.memories.cycle('max')).toBe(12)
  })

  it('MEM-14 empties a damaged row that mentions it', async () => {
    await say('max', 1, 'x')
    await store.database.write(async (writer) => {
      await writer.updateTable('session_events').set({ data: '{"text": "Beatrice' }).execute()
    })
    expect(await store.corrections.forgetEverything('max', 'beatrice')).toEqual({ memories: 0, events: 1 })
    expect(await store.placesHolding('beatrice')).toEqual([])
  })
})
