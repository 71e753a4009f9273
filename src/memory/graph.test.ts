import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { testSize } from '../../test/support/test-size.ts'

let store: MemoryStore

beforeEach(async () => {
  store = await openMemoryStore()
  await addAll('max', 'abcdefgh')
})

afterEach(() => store.close())

async function addAll(userId: string, ids: string) {
  for (const id of ids) {
    await store.memories.add({ userId, kind: 'note', content: `memory ${id}`, source: 'user', id })
  }
}

/** `ab 0.5`: from a to b with that weight. */
async function link(text: string, { userId = 'max', relation = 'about' } = {}) {
  const [ends = '', weight = '1'] = text.split(' ')
  const [sourceId = '', targetId = ''] = ends
  return await store.graph.link(userId, { sourceId, targetId, relation, weight: Number(weight) })
}

async function related(from: string, options: { depth?: number; limit?: number } = {}): Promise<string> {
  const found = await store.graph.related('max', [...from], options)
  return found.map(({ id, distance }) => `${id}${distance}`).join(' ')
}

describe('the graph', () => {
  it('MEM-12 is walked in both directions, two steps, nearest first, then by weight', async () => {
    for (const edge of ['ab 0.5', 'ca 0.9', 'bd', 'de']) await link(edge)
    expect(await related('a')).toBe('c1 b1 d2')
    expect(await related('a', { depth: 1 })).toBe('c1 b1')
    expect(await related('a', { depth: 3 })).toBe('c1 b1 d2 e3')
    expect(await related('a', { depth: 0 })).toBe('')
    expect(await related('ab')).toBe('d1 c1 e2')
    const [, b, d] = await store.graph.related('max', ['a'])
    expect(b).toMatchObject({ weight: 0.5, via: { sourceId: 'a', targetId: 'b', relation: 'about', weight: 0.5 } })
    expect(d).toMatchObject({ id: 'd', distance: 2, weight: 0.5 })
  })

  it('MEM-12 takes the best of the shortest paths', async () => {
    for (const edge of ['ab 0.2', 'ac 0.8', 'bd 1', 'cd 0.9']) await link(edge)
    expect((await store.graph.related('max', ['a'])).find(({ id }) => id === 'd')).toMatchObject({
      weight: 0.8 * 0.9,
      via: { sourceId: 'c' },
    })
  })

  it('MEM-12 a cycle ends, and each memory appears once, at most the limit', async () => {
    for (const edge of ['ab', 'bc', 'ca', 'ab', 'cd']) await link(edge)
    await link('ba', { relation: 'knows' })
    expect(await related('a', { depth: 5 })).toBe('b1 c1 d2')
    expect(await related('a', { depth: 5, limit: 2 })).toBe('b1 c1')
    expect(await related('a', { depth: 5, limit: 0 })).toBe('')
    expect(await related('')).toBe('')
    expect(await related('z')).toBe('')
  })

  it('MEM-12 repeating an edge keeps the higher weight', async () => {
    await link('ab 0.5')
    expect(await link('ab 0.2')).toMatchObject({ weight: 0.5 })
    expect(await link('ab 0.7')).toMatchObject({ weight: 0.7 })
    expect(await link('ab 7')).toMatchObject({ weight: 1 })
    expect(await store.graph.edges('max', { limit: 10 })).toHaveLength(1)
  })

  it('MEM-12 no edge leads to another user’s memory, to itself or to a missing one', async () => {
    await addAll('eve', 'xy')
    expect(await link('ax')).toBeUndefined()
    expect(await link('xy')).toBeUndefined()
    expect(await link('aa')).toBeUndefined()
    expect(await link('az')).toBeUndefined()
    expect(await link('xy', { userId: 'eve' })).toBeDefined()
    await link('ab')
    expect(await store.graph.related('max', ['x'])).toEqual([])
    expect(await store.graph.related('eve', ['a'])).toEqual([])
    expect(await store.graph.edges('max', { limit: 10 })).toHaveLength(1)
    expect(await store.graph.unlink('eve', { sourceId: 'a', targetId: 'b', relation: 'about' })).toBe(false)
    await expect(link('ab', { relation: ' ' })).rejects.toMatchObject({ code: 'bad_request' })
  })

  it('MEM-12 an edge is removed explicitly, and with either of its memories', async () => {
    for (const edge of ['ab', 'bc', 'cd']) await link(edge)
    expect(await store.graph.unlink('max', { sourceId: 'a', targetId: 'b', relation: 'about' })).toBe(true)
    expect(await store.graph.unlink('max', { sourceId: 'a', targetId: 'b', relation: 'about' })).toBe(false)
    await store.database.write((writer) => store.memories.removeIn(writer, { userId: 'max', id: 'c' }))
    expect(await store.graph.edges('max', { limit: 10 })).toEqual([])
  })

  it('MEM-12 returns the edges around some memories, or the newest', async () => {
    for (const edge of ['ab 0.3', 'bc', 'de']) {
      await link(edge)
      await store.clock.advance(1)
    }
    const ends = async (options: { ids?: string[]; limit: number }) =>
      (await store.graph.edges('max', options)).map((edge) => `${edge.sourceId}${edge.targetId}`)
    expect(await ends({ ids: ['b'], limit: 10 })).toEqual(['bc', 'ab'])
    expect(await ends({ ids: ['a', 'b'], limit: 1 })).toEqual(['bc'])
    expect(await ends({ limit: 2 })).toEqual(['de', 'bc'])
  })

  it('MEM-12 distances are those of a plain breadth-first walk, in any graph', async () => {
    const id = fc.constantFrom(...'abcdefgh')
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(id, id), { maxLength: 14 }),
        fc.integer({ min: 1, max: 4 }),
        async (pairs, depth) => {
          await store.database.write((writer) => writer.deleteFrom('memory_edges').execute())
          for (const [from, to] of pairs) await link(`${from}${to}`)
          const distances = new Map([['a', 0]])
          for (const [at, distance] of distances) {
            if (distance === depth) continue
            for (const [from, to] of pairs) {
              for (const next of [from === at && to, to === at && from]) {
                if (next && !distances.has(next)) distances.set(next, distance + 1)
              }
            }
          }
          distances.delete('a')
          const found = await store.graph.related('max', ['a'], { depth })
          expect(new Map(found.map((one) => [one.id, one.distance]))).toEqual(distances)
        },
      ),
      { numRuns: testSize({ whole: 60, onPostgres: 20 }) },
    )
  })
})
