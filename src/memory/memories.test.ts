import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { testSize } from '../../test/support/test-size.ts'

let store: MemoryStore
const source = 'user'
const kind = 'note'

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

describe('memories', () => {
  it('MEM-1 stores text with its source', async () => {
    const { memory, isNew } = await store.memories.add({
      userId: 'max',
      kind,
      content: '  I am allergic to shellfish\n',
      title: ' My \n allergy ',
      category: 'health',
      tags: ['health', ' food ', 'health', ''],
      source,
      sessionId: 'session',
      turnId: 'turn',
    })
    expect(isNew).toBe(true)
    expect(memory).toMatchObject({
      content: 'I am allergic to shellfish',
      title: 'My allergy',
      category: 'health',
      tags: ['health', 'food'],
      tier: 'long_term',
      priority: 0.8,
      source: 'user',
      label: 'owner',
      sessionId: 'session',
      turnId: 'turn',
      createdAt: store.clock.now(),
      supersededAt: null,
    })
    expect(await store.memories.get('max', memory.id)).toEqual(memory)
    expect(await store.search('max', 'What am I allergic to?')).toEqual([memory.content])
    expect(await store.search('max', 'food')).toEqual([memory.content])
  })

  it("MEM-1 trusts only the user's text by default", async () => {
    const labels = []
    for (const source of ['user', 'agent', 'extracted', 'tool', 'import'] as const) {
      const { memory } = await store.memories.add({ userId: 'max', kind, content: `from ${source}`, source })
      labels.push(memory.label)
    }
    expect(labels).toEqual(['owner', 'internal', 'internal', 'internal', 'internal'])
  })

  it('MEM-1 stores the same content once, and the same cause once', async () => {
    const first = await store.memories.add({ userId: 'max', kind, content: 'I like tea', source, id: 'call-1' })
    const again = await store.memories.add({ userId: 'max', kind, content: ' I like tea\n', source, id: 'call-1' })
    const later = await store.memories.add({ userId: 'max', kind, content: 'I like tea', source, id: 'call-2' })
    expect(first.memory.id).toBe('call-1')
    expect(again).toEqual({ memory: first.memory, isNew: false })
    expect(later).toEqual({ memory: first.memory, isNew: false })
    expect(await store.memories.list('max', { limit: 10 })).toEqual([first.memory])
  })

  it('MEM-1 stores every passage, but one per cause', async () => {
    const chunk = { userId: 'max', kind: 'chunk', content: 'the end', source } as const
    const first = await store.memories.add({ ...chunk, id: 'page-1' })
    expect((await store.memories.add({ ...chunk, id: 'page-1' })).memory).toEqual(first.memory)
    expect((await store.memories.add({ ...chunk, id: 'page-2' })).isNew).toBe(true)
    expect((await store.memories.add(chunk)).isNew).toBe(true)
    expect(await store.memories.list('max', { limit: 10 })).toHaveLength(3)
  })

  it('MEM-1 loses no memory to an id that is taken', async () => {
    await store.memories.add({ userId: 'max', kind, content: 'I like tea', source, id: 'same' })
    const { memory, isNew } = await store.memories.add({
      userId: 'eve',
      kind,
      content: 'I like milk',
      source,
      id: 'same',
    })
    expect(isNew).toBe(true)
    expect(memory.id).not.toBe('same')
    expect(await store.search('eve', 'milk')).toEqual(['I like milk'])
  })

  it('MEM-1 gets many in the requested order, without unknown ones', async () => {
    const contents = ['one', 'two', 'three']
    const added = await Promise.all(
      contents.map((content) => store.memories.add({ userId: 'max', kind, content, source })),
    )
    const [one, two, three] = added.map(({ memory }) => memory)
    if (!one || !two || !three) throw new Error('three were added')
    expect(await store.memories.getMany('max', [three.id, 'unknown', one.id])).toEqual([three, one])
    expect(await store.memories.getMany('eve', [three.id, one.id])).toEqual([])
    expect(await store.memories.getMany('max', [])).toEqual([])
  })

  it('MEM-1 lists newest first, page after page, of all kinds or some', async () => {
    for (let index = 0; index < 8; index += 1) {
      const kinds = ['note', 'chunk', 'fact', 'episode'] as const
      await store.memories.add({ userId: 'max', kind: kinds[index % 4] ?? 'note', content: `${index}`, source })
      if (index % 3 === 0) await store.clock.advance(1)
    }
    const pagesOf = async (kinds?: readonly ('note' | 'fact')[]) => {
      const contents: string[] = []
      for (let page = await store.memories.list('max', { limit: 3, kinds }); page.length > 0; ) {
        contents.push(...page.map((memory) => memory.content))
        page = await store.memories.list('max', { limit: 3, kinds, before: page.at(-1) })
      }
      return contents
    }
    expect(await pagesOf()).toEqual(['7', '6', '5', '4', '3', '2', '1', '0'])
    expect(await pagesOf(['note', 'fact'])).toEqual(['6', '4', '2', '0'])
  })

  it("MEM-1 neither shows nor strengthens other users' memories", async () => {
    const { memory } = await store.memories.add({ userId: 'eve', kind, content: 'My secret is shellfish', source })
    expect(await store.search('max', 'secret shellfish')).toEqual([])
    expect(await store.memories.get('max', memory.id)).toBeUndefined()
    expect(await store.memories.list('max', { limit: 10 })).toEqual([])
    await store.memories.used('max', [memory.id])
    await store.database.write((writer) => store.memories.removeIn(writer, { userId: 'max', id: memory.id }))
    expect(await store.memories.get('eve', memory.id)).toEqual(memory)
    expect((await store.memories.add({ userId: 'max', kind, content: 'My secret is shellfish', source })).isNew).toBe(
      true,
    )
    expect(await store.search('eve', 'secret')).toHaveLength(1)
  })

  it('MEM-1 rejects an empty one, and one that is too long', async () => {
    for (const content of ['', ' \n\t', '\u0000']) {
      await expect(store.memories.add({ userId: 'max', kind, content, source })).rejects.toMatchObject({
        code: 'bad_request',
        message: 'A memory needs some text',
      })
    }
    const content = 'x'.repeat(1_000_001)
    await expect(store.memories.add({ userId: 'max', kind, content, source })).rejects.toMatchObject({
      code: 'payload_too_large',
    })
  })

  it('MEM-1 stores 100 kB, emoji, every script and search syntax unchanged', async () => {
    const long = `zebra ${'x y '.repeat(25_000)}`.trim()
    const texts = [
      long,
      '👩‍👩‍👧 likes 🍣',
      '我对虾过敏',
      'أنا أحب القهوة',
      'אני אוהב תה',
      '"a" AND (b:c* NEAR/2 -d) ^e',
      "'; drop table memories; --",
    ]
    for (const content of texts) {
      const { memory } = await store.memories.add({ userId: 'max', kind, content, source })
      expect((await store.memories.get('max', memory.id))?.content).toBe(content)
    }
    expect(await store.search('max', 'zebra')).toEqual([long])
    expect(await store.search('max', '过敏')).toEqual(['我对虾过敏'])
    expect(await store.search('max', 'القهوة')).toEqual(['أنا أحب القهوة'])
    expect(await store.search('max', 'תה')).toEqual(['אני אוהב תה'])
    expect(await store.search('max', 'drop table memories')).toEqual(["'; drop table memories; --"])
  })

  it('MEM-1 keeps sixteen of ten thousand tags', async () => {
    const tags = Array.from({ length: 10_000 }, (_, index) => `tag ${index}`)
    const { memory } = await store.memories.add({ userId: 'max', kind, content: 'tagged', tags, source })
    expect(memory.tags).toEqual(tags.slice(0, 16))
    expect(await store.search('max', 'tag 3')).toEqual(['tagged'])
  })

  it('MEM-1 no text and no question breaks it', async () => {
    const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (text, question) => {
        const { memory } = await store.memories.add({
          userId: 'max',
          kind,
          content: `note ${text}`,
          title: text,
          tags: [text],
          source,
        })
        expect(memory.content.isWellFormed()).toBe(true)
        expect(await store.memories.get('max', memory.id)).toEqual(memory)
        await store.search('max', question)
      }),
      { numRuns: testSize({ whole: 60, onPostgres: 20 }) },
    )
  })

  it('MEM-1 resolves dates in a text when it is written and when it is edited', async () => {
    await store.close()
    const asked: [string, number][] = []
    store = await openMemoryStore({
      readDates(text, at) {
        asked.push([text, at])
        return text.includes('yesterday') ? { from: at - 2, until: at - 1 } : undefined
      },
    })
    const at = 1_000_000
    const { memory } = await store.memories.add({ userId: 'max', kind, content: 'Lunch yesterday', source, at })
    expect(asked.at(-1)).toEqual(['Lunch yesterday', at])
    expect(memory).toMatchObject({ happenedFrom: at - 2, happenedUntil: at - 1 })
    const edited = await store.database.write((writer) => store.memories.editIn(writer, memory, { content: 'Lunch' }))
    expect(edited).toMatchObject({ happenedFrom: null, happenedUntil: null })
    expect(await store.memories.get('max', memory.id)).toEqual(edited)
  })

  it('MEM-2 counts uses, and a cycle is one count, however many memories there are', async () => {
    const { memory: before } = await store.memories.add({ userId: 'max', kind, content: 'before', source })
    expect(await store.memories.cycle('max')).toBe(0)
    expect([await store.memories.nextCycle('max'), await store.memories.nextCycle('max')]).toEqual([1, 2])
    expect(await store.memories.cycle('max')).toBe(2)
    expect(await store.memories.cycle('eve')).toBe(0)
    const { memory: after } = await store.memories.add({ userId: 'max', kind, content: 'after', source })
    expect([before.cycle, after.cycle]).toEqual([0, 2])
    await store.clock.advance(1_000)
    await store.memories.used('max', [before.id, before.id, 'unknown'])
    await store.memories.used('max', [])
    expect(await store.memories.get('max', before.id)).toEqual({ ...before, useCount: 1, usedAt: store.clock.now() })
    expect(await store.memories.get('max', after.id)).toEqual(after)
  })
})
