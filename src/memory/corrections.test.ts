import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import type { Memory, NewMemory } from './memory.ts'

const day = 24 * 60 * 60 * 1_000
let store: MemoryStore

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

async function add(content: string, more: Partial<NewMemory> = {}): Promise<Memory> {
  await store.clock.advance(1)
  const memory: NewMemory = { userId: 'max', kind: 'note', content, source: 'agent', ...more }
  return (await store.memories.add(memory)).memory
}

async function addVector({ number, userId }: Memory): Promise<void> {
  await store.database.write((writer) =>
    writer
      .insertInto('memory_vectors')
      .values({ number, user_id: userId, model: 'test', text_hash: '', vector: new Uint8Array(4) })
      .execute(),
  )
}

/** The user's stored memories, without their numbers. */
async function stored() {
  const tables = ['memories', 'facts', 'episodes', 'commitments', 'memory_edges'] as const
  const rows = await Promise.all(
    tables.map((table) => store.database.read.selectFrom(table).selectAll().where('user_id', '=', 'max').execute()),
  )
  return rows.map((some) => some.map((row) => ({ ...row, number: 0 })).toSorted((a, b) => (key(a) < key(b) ? -1 : 1)))
}

const key = (row: object) => JSON.stringify(row)

const vectors = async () => (await store.database.read.selectFrom('memory_vectors').select('number').execute()).length

describe('editing', () => {
  it('MEM-11 changes what is stored and found, and can be undone', async () => {
    const memory = await add('I like tea', { title: 'Drink', tags: ['taste'] })
    await addVector(memory)
    const before = await stored()
    const edit = { content: ' I like coffee ', title: null, category: 'food', tags: ['x'], priority: 3 }
    const outcome = await store.corrections.edit('max', memory.id, edit, 'agent')
    if (!outcome.ok) throw new Error(outcome.reason)
    expect(outcome.memory).toMatchObject({
      id: memory.id,
      content: 'I like coffee',
      title: null,
      category: 'food',
      tags: ['x'],
      priority: 1,
    })
    expect(await store.memories.get('max', memory.id)).toEqual(outcome.memory)
    expect(await store.search('max', 'tea taste')).toEqual([])
    expect(await store.search('max', 'coffee')).toEqual(['I like coffee'])
    expect(await vectors()).toBe(0)

    const [change] = await store.corrections.changes('max', 10)
    expect(change).toMatchObject({ id: outcome.changeId, action: 'edited', madeBy: 'agent', before: memory })
    expect(await store.corrections.undo('max')).toEqual(change)
    expect(await stored()).toEqual(before)
    expect(await store.search('max', 'tea')).toEqual(['I like tea'])
    expect(await store.corrections.undo('max')).toBeUndefined()
  })

  it('MEM-11 changes only what is named, and rejects an unknown id', async () => {
    const memory = await add('I like tea', { title: 'Drink', tags: ['taste'] })
    await store.corrections.edit('max', memory.id, { tier: 'short_term' }, 'user')
    const now = await store.memories.get('max', memory.id)
    expect(now).toEqual({ ...memory, tier: 'short_term', updatedAt: store.clock.now() })
    await expect(store.corrections.edit('max', memory.id, { content: ' ' }, 'user')).rejects.toMatchObject({
      code: 'bad_request',
    })
    expect(await store.corrections.changes('max', 10)).toHaveLength(1)
    expect(await store.corrections.edit('max', 'unknown', {}, 'user')).toEqual({ ok: false, reason: 'not_found' })
    expect(await store.corrections.edit('eve', memory.id, {}, 'user')).toEqual({ ok: false, reason: 'not_found' })
  })

  it('MEM-11 details follow their content, or the edit is rejected with a reason', async () => {
    const { fact } = await store.facts.write({
      userId: 'max',
      entity: 'Bea',
      attribute: 'job',
      value: 'baker',
      source: 'agent',
    })
    await store.corrections.edit('max', fact.id, { content: 'Bea: job is pilot' }, 'user')
    expect(await store.facts.find({ userId: 'max', value: 'pilot' })).toHaveLength(1)
    await expect(store.corrections.edit('max', fact.id, { content: 'Bea flies' }, 'user')).rejects.toMatchObject({
      message: 'Its text must have the form: Bea: job is …',
    })
    expect((await store.memories.get('max', fact.id))?.content).toBe('Bea: job is pilot')
    await store.corrections.undo('max')
    expect(await store.facts.find({ userId: 'max', value: 'baker' })).toEqual([fact])

    const { commitment } = await store.commitments.add({
      userId: 'max',
      who: 'user',
      what: 'call mum',
      deadline: Date.UTC(2027, 0, 1),
      source: 'agent',
    })
    await store.corrections.edit('max', commitment.id, { content: 'user owes: call dad, by 2027-01-01' }, 'user')
    expect((await store.commitments.get('max', commitment.id))?.what).toBe('call dad')
    await expect(store.corrections.edit('max', commitment.id, { content: 'call dad' }, 'user')).rejects.toMatchObject({
      code: 'bad_request',
    })
  })
})

describe('stating a fact', () => {
  const home = (value: string) => ({ userId: 'max', entity: 'Ruth', attribute: 'home', value })

  it('MEM-11 undo restores the replaced value with its repetitions, and removes the new one', async () => {
    await store.facts.write({ ...home('Porto'), source: 'agent', turnId: 'one' })
    await add('Ruth home Porto', { turnId: 'one' })
    const before = await stored()
    await store.clock.advance(day)
    const { written, changeId } = await store.corrections.stateFact(home('Ghent'))
    expect(written).toMatchObject({ outcome: 'replaced', old: { value: 'Porto' } })
    expect(await store.search('max', 'Porto')).toEqual([])
    expect(await store.corrections.undo('max', changeId ?? '')).toMatchObject({ action: 'edited' })
    expect(await stored()).toEqual(before)
    expect((await store.search('max', 'Porto')).toSorted()).toEqual(['Ruth home Porto', 'Ruth: home is Porto'])
    expect(await store.search('max', 'Ghent')).toEqual([])
  })

  it('MEM-11 a change below a newer value, or one that replaced nothing, cannot be undone', async () => {
    expect(await store.corrections.stateFact(home('Porto'))).toMatchObject({ changeId: null })
    const first = await store.corrections.stateFact(home('Ghent'))
    await store.clock.advance(1)
    const second = await store.corrections.stateFact(home('Oslo'))
    expect(await store.corrections.undo('max', first.changeId ?? '')).toBeUndefined()
    await store.corrections.undo('max', second.changeId ?? '')
    await store.corrections.undo('max', first.changeId ?? '')
    expect(await store.facts.find({ ...home('Porto'), history: true, limit: 9 })).toHaveLength(1)
  })
})

describe('forgetting', () => {
  it('MEM-11 nothing finds it any more until it is undone: with its details and edges, under its id', async () => {
    const note = await add('The key lies under the mat', { title: 'Where the key lies' })
    const { fact } = await store.facts.write({
      userId: 'max',
      entity: 'Bea',
      attribute: 'job',
      value: 'baker',
      source: 'agent',
    })
    await store.graph.link('max', { sourceId: note.id, targetId: fact.id, relation: 'about', weight: 0.5 })
    await addVector(note)
    const before = await stored()
    for (const id of [fact.id, note.id]) {
      expect(await store.corrections.forget('max', id, 'agent')).toMatchObject({ ok: true, memory: { id } })
    }
    expect(await store.memories.list('max', { limit: 10 })).toEqual([])
    expect(await store.search('max', 'key mat baker')).toEqual([])
    expect(await store.facts.find({ userId: 'max' })).toEqual([])
    expect(await stored()).toEqual([[], [], [], [], []])
    expect(await vectors()).toBe(0)

    const changes = await store.corrections.changes('max', 10)
    expect(changes.map((change) => [change.action, change.memoryId])).toEqual([
      ['forgotten', note.id],
      ['forgotten', fact.id],
    ])
    expect(changes[0]?.before).toEqual(note)
    // The edge is restored with the second of its ends.
    await store.corrections.undo('max')
    await store.corrections.undo('max', changes[1]?.id)
    const [memories, facts, , , edges] = await stored()
    expect([memories, facts]).toEqual([before[0], before[1]])
    expect(edges).toEqual(before[4])
    expect(await store.search('max', 'key')).toEqual([note.content])
    expect(await store.facts.get('max', fact.id)).toEqual(fact)
  })

  it('MEM-11 by exact title, never by a part of it', async () => {
    const older = await add('first', { title: 'My title' })
    const newer = await add('second', { title: 'My title' })
    for (const part of ['My', 'title', 'My titl', 'my title', 'My title ', '%', '', 'fir', older.id.slice(0, 8)]) {
      expect(await store.corrections.forget('max', part, 'user')).toEqual({ ok: false, reason: 'not_found' })
    }
    expect(await store.corrections.forget('eve', 'My title', 'user')).toEqual({ ok: false, reason: 'not_found' })
    expect(await store.corrections.forget('max', 'My title', 'user')).toMatchObject({ memory: { id: newer.id } })
    expect(await store.corrections.forget('max', 'My title', 'user')).toMatchObject({ memory: { id: older.id } })
  })

  it("MEM-11 the agent may only propose to change the user's own memories", async () => {
    const own = await add('I was born in May', { source: 'user' })
    const onTheirWord = await add('My shoe size is 42', { source: 'agent', label: 'owner' })
    for (const memory of [own, onTheirWord]) {
      const refused = { ok: false, reason: 'users_own', memory }
      expect(await store.corrections.forget('max', memory.id, 'agent')).toEqual(refused)
      expect(await store.corrections.edit('max', memory.id, { content: 'no' }, 'agent')).toEqual(refused)
      expect(await store.memories.get('max', memory.id)).toEqual(memory)
      expect(await store.corrections.forget('max', memory.id, 'user')).toMatchObject({ ok: true })
    }
  })

  it('MEM-11 repetitions are forgotten and restored with it', async () => {
    const note = await add('The alarm code of the house is 4711')
    const passage = await add('assistant: noted. user: the alarm code of our house is 4711, by the way', {
      kind: 'chunk',
      source: 'import',
    })
    const extracted = await add('Alarm codes: house 4711', { source: 'extracted' })
    const another = await add('The alarm code of the car is 0815', { source: 'extracted' })
    const sameByAgent = await add('The house has the alarm code 4711')
    const usersPassage = await add('user: house alarm code 4711', { kind: 'chunk', source: 'user' })
    const eves = await add('The alarm code of the house is 4711', { userId: 'eve', source: 'extracted' })
    const inFile = await add('alarm code house 4711', { kind: 'chunk', source: 'import' })
    await store.database.write(async (writer) => {
      await writer
        .insertInto('memory_files')
        .values({
          id: 'file',
          user_id: 'max',
          root: '/',
          path: '/notes.md',
          content_hash: '',
          bytes: 1,
          modified_at: 1,
          indexed_at: 1,
        })
        .execute()
      await writer
        .insertInto('chunks')
        .values({ id: inFile.id, user_id: 'max', file_id: 'file', first_line: 1, last_line: 1 })
        .execute()
    })
    const outcome = await store.corrections.forget('max', note.id, 'agent')
    if (!outcome.ok) throw new Error(outcome.reason)
    const also = outcome.alsoForgotten.map((memory) => memory.id).toSorted()
    expect(also).toEqual([passage.id, extracted.id].toSorted())
    for (const { userId, id } of [another, sameByAgent, usersPassage, eves, inFile]) {
      expect(await store.memories.get(userId, id)).toBeDefined()
    }
    expect(await store.corrections.changes('max', 10)).toHaveLength(1)
    await store.corrections.undo('max', outcome.changeId)
    for (const { id } of [note, passage, extracted]) expect(await store.memories.get('max', id)).toBeDefined()

    const byUser = await store.corrections.forget('max', note.id, 'user')
    expect(byUser.ok && byUser.alsoForgotten.map((memory) => memory.id)).toContain(usersPassage.id)
  })

  it('MEM-11 a single word is not a repetition', async () => {
    const note = await add('Tea?')
    await add('user: I had tea and a long talk', { kind: 'chunk', source: 'import' })
    expect(await store.corrections.forget('max', note.id, 'user')).toMatchObject({ alsoForgotten: [] })
  })

  it('MEM-11 changes of other users, undone ones, and those 30 days old cannot be undone', async () => {
    const memory = await add('secret')
    const outcome = await store.corrections.forget('max', memory.id, 'user')
    if (!outcome.ok) throw new Error(outcome.reason)
    expect(await store.corrections.undo('eve', outcome.changeId)).toBeUndefined()
    expect(await store.corrections.changes('eve', 10)).toEqual([])
    store.clock.setTime(store.clock.now() + 30 * day + 1)
    expect(await store.corrections.changes('max', 10)).toEqual([])
    expect(await store.corrections.undo('max', outcome.changeId)).toBeUndefined()
    expect(await store.memories.get('max', memory.id)).toBeUndefined()
  })

  it('MEM-11 an edit of a forgotten memory waits until that is undone', async () => {
    const memory = await add('one')
    const edited = await store.corrections.edit('max', memory.id, { content: 'two' }, 'user')
    await store.clock.advance(1)
    await store.corrections.forget('max', memory.id, 'user')
    expect(edited.ok && (await store.corrections.undo('max', edited.changeId))).toBeUndefined()
    await store.corrections.undo('max')
    expect((await store.memories.get('max', memory.id))?.content).toBe('two')
    await store.corrections.undo('max')
    expect((await store.memories.get('max', memory.id))?.content).toBe('one')
  })
})

describe('purging', () => {
  it('MEM-11 after 30 days nothing of it remains in the file', async () => {
    // A word in the word index, in other memories around it, and in edited text.
    for (let index = 0; index < 200; index += 1) await add(`Filler number ${index} ${'about this and that '.repeat(9)}`)
    const forgotten = await add(`Zanzibarquux ${'is where the money lies '.repeat(300)}`, { title: 'Zanzibarquux' })
    const edited = await add('The password is Wobbegongquux', { tags: ['Wobbegongquux'] })
    const kept = await add('Quokkaquux stays')
    await store.corrections.forget('max', forgotten.id, 'user')
    await store.corrections.edit('max', edited.id, { content: 'no password', tags: [] }, 'user')
    expect(await store.corrections.purge()).toBe(0)
    expect(await store.placesHolding('Zanzibarquux')).not.toEqual([])

    store.clock.setTime(store.clock.now() + 30 * day + 1)
    expect(await store.corrections.purge()).toBe(2)
    expect(await store.corrections.purge()).toBe(0)
    expect(await store.placesHolding('Zanzibarquux')).toEqual([])
    expect(await store.placesHolding('Wobbegongquux')).toEqual([])
    expect(await store.placesHolding('Quokkaquux')).not.toEqual([])
    expect(await store.search('max', 'Quokkaquux')).toEqual([kept.content])
    expect(await store.database.checkIntegrity()).toEqual([])
  })
})
