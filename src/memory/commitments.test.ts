import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import type { CommitmentState, NewCommitment } from './commitments.ts'

const day = 24 * 60 * 60 * 1_000
let store: MemoryStore
let today: number

beforeEach(async () => {
  store = await openMemoryStore()
  today = store.clock.now()
})

afterEach(() => store.close())

async function add(what: string, more: Partial<NewCommitment> = {}) {
  await store.clock.advance(1)
  return await store.commitments.add({ userId: 'max', who: 'user', what, source: 'extracted', ...more })
}

async function listed(question: { states?: CommitmentState[]; who?: string; toWhom?: string; limit?: number } = {}) {
  const found = await store.commitments.list({ userId: 'max', limit: 10, ...question })
  return found.map((commitment) => `${commitment.what} (${commitment.state})`)
}

describe('commitments', () => {
  it('MEM-1 a commitment is a memory that reads as a sentence', async () => {
    const deadline = Date.UTC(2026, 10, 20)
    const { commitment, isNew } = await add('send the report', { toWhom: 'Anna', deadline })
    expect(isNew).toBe(true)
    expect(commitment).toMatchObject({ who: 'user', toWhom: 'Anna', deadline, state: 'open', closedAt: null })
    expect(await store.commitments.get('max', commitment.id)).toEqual(commitment)
    expect(await store.commitments.get('eve', commitment.id)).toBeUndefined()
    expect(await store.search('max', 'report')).toEqual(['user owes Anna: send the report, by 2026-11-20'])
    await add('rest', { who: 'Anna' })
    expect(await store.search('max', 'rest')).toEqual(['Anna owes: rest'])
  })

  it('MEM-9 the same promise is stored once while it is open; a later deadline is added', async () => {
    const first = await add('send the report', { toWhom: 'Anna' })
    const again = await add('Send  the report.', { toWhom: 'ANNA', deadline: today + day })
    expect(again).toEqual({ commitment: { ...first.commitment, deadline: today + day }, isNew: false })
    expect(await store.search('max', 'report')).toHaveLength(1)
    expect((await add('send the report', { toWhom: 'Bea' })).isNew).toBe(true)
    expect((await add('send the report', { toWhom: 'Anna', userId: 'eve' })).isNew).toBe(true)
    await store.commitments.update('max', first.commitment.id, { state: 'done' })
    expect((await add('send the report', { toWhom: 'Anna' })).isNew).toBe(true)
  })

  it("MEM-9 a conversation does not change the user's own deadline, and leaves a note to review", async () => {
    const own = await add('send the report', { toWhom: 'Anna', deadline: today + day, source: 'user' })
    const read = await add('send the report', { toWhom: 'Anna', deadline: today + 5 * day })
    expect(read).toEqual({ commitment: own.commitment, isNew: false })
    expect((await store.search('max', 'review')).join()).toContain('another day was mentioned')
    const told = await add('send the report', { toWhom: 'Anna', deadline: today + 3 * day, source: 'user' })
    expect(told.commitment.deadline).toBe(today + 3 * day)
  })

  it.each([
    ['read from a conversation', 'extracted', 'agent'],
    ['told by the user', 'user', 'user'],
  ] as const)(
    'MEM-9 a deadline that was %s is in the change journal and can be undone',
    async (_how, source, madeBy) => {
      const first = await add('send the report', { toWhom: 'Anna', deadline: today + day })
      const moved = await add('send the report', { toWhom: 'Anna', deadline: today + 5 * day, source })
      expect(moved.commitment.deadline).toBe(today + 5 * day)
      const [change, ...more] = await store.corrections.changes('max', 10)
      expect(change).toMatchObject({ memoryId: first.commitment.id, action: 'edited', madeBy })
      expect(more).toEqual([])
      expect(await store.corrections.undo('max', change?.id ?? '')).toBeDefined()
      expect(await store.commitments.get('max', first.commitment.id)).toMatchObject({ deadline: today + day })
      const written = new Date(today + day).toISOString().slice(0, 10)
      expect(await store.search('max', 'report')).toEqual([`user owes Anna: send the report, by ${written}`])
      expect(await store.corrections.changes('max', 10)).toEqual([])
    },
  )

  it('MEM-1 open ones are listed by deadline, closed ones newest first', async () => {
    await add('undated')
    await add('later', { deadline: today + 2 * day })
    await add('sooner', { deadline: today + day })
    await add('missed', { deadline: today - day })
    const done = await add('finished')
    const dropped = await add('dropped')
    await store.commitments.update('max', done.commitment.id, { state: 'done' })
    await store.commitments.update('max', dropped.commitment.id, { state: 'cancelled' })
    expect(await listed({ states: ['open'] })).toEqual(['sooner (open)', 'later (open)', 'undated (open)'])
    expect(await listed({ states: ['expired'] })).toEqual(['missed (expired)'])
    expect(await listed({ states: ['cancelled', 'done'] })).toEqual(['finished (done)', 'dropped (cancelled)'])
    expect(await listed()).toHaveLength(6)
    expect(await listed({ limit: 2 })).toEqual(['sooner (open)', 'later (open)'])
    expect(await store.commitments.list({ userId: 'eve', limit: 10 })).toEqual([])
  })

  it('MEM-1 an overdue one reads as expired, and is open again with a later deadline', async () => {
    const { commitment } = await add('call mum', { deadline: today + day })
    store.clock.setTime(today + 2 * day)
    expect((await store.commitments.get('max', commitment.id))?.state).toBe('expired')
    const updated = await store.commitments.update('max', commitment.id, { deadline: today + 3 * day })
    expect(updated).toMatchObject({ state: 'open', deadline: today + 3 * day })
    expect(await store.commitments.update('max', commitment.id, { deadline: null })).toMatchObject({ deadline: null })
    expect((await store.memories.get('max', commitment.id))?.content).toBe('user owes: call mum')
  })

  it('MEM-6 closing one updates its memory, and it can be reopened', async () => {
    const { commitment } = await add('call mum')
    const done = await store.commitments.update('max', commitment.id, { state: 'done' })
    expect(done).toMatchObject({ state: 'done', closedAt: store.clock.now() })
    expect(await store.search('max', 'mum')).toEqual(['user owes: call mum (done)'])
    await store.clock.advance(1_000)
    expect(await store.commitments.update('max', commitment.id, { state: 'done' })).toEqual(done)
    expect(await store.commitments.update('max', commitment.id, { state: 'open' })).toMatchObject({ closedAt: null })
    expect(await store.search('max', 'mum')).toEqual(['user owes: call mum'])
    expect(await store.commitments.update('eve', commitment.id, { state: 'done' })).toBeUndefined()
    expect(await store.commitments.update('max', 'unknown', { state: 'done' })).toBeUndefined()
  })

  it('MEM-10 names resolve through their aliases, before and after they are known', async () => {
    await add('lend a book', { who: 'Bee', toWhom: 'user' })
    await store.aliases.add('max', 'Bee', 'Beatrice')
    await add('bring cake', { who: 'Bee', toWhom: 'Carl' })
    await add('wash up', { who: 'Carl', toWhom: 'Bee' })
    expect((await listed({ who: 'beatrice' })).toSorted()).toEqual(['bring cake (open)', 'lend a book (open)'])
    expect(await listed({ toWhom: 'Beatrice' })).toEqual(['wash up (open)'])
    expect(await listed({ who: 'me' })).toEqual([])
    expect(await listed({ toWhom: 'me' })).toEqual(['lend a book (open)'])
  })

  it('MEM-1 rejects empty text', async () => {
    await expect(add(' ')).rejects.toMatchObject({ code: 'bad_request' })
    await expect(add('x', { who: '' })).rejects.toMatchObject({ code: 'bad_request' })
  })
})
