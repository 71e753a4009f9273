import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exchange, type LearningMemory, openLearningMemory } from '../../../test/support/learning-memory.ts'
import { createCorrections } from '../corrections.ts'
import { type ConversationIndex, createConversationIndex } from './index-conversation.ts'

let memory: LearningMemory
let index: ConversationIndex
let now: number

beforeEach(async () => {
  memory = await openLearningMemory()
  index = createConversationIndex(memory)
  now = memory.clock.now()
})

afterEach(() => memory.close())

const passages = () => memory.memories.list('max', { limit: 100, kinds: ['chunk'] })

describe('createConversationIndex', () => {
  it('MEM-1 stores messages as passages, with speaker, time and place', async () => {
    await index.index('max', [
      exchange(1, now, 'We hiked to the Silver Lake', 'assistant: The lake lies at 1,900 metres'),
    ])
    const [reply, line] = await passages()
    expect(line).toMatchObject({
      content: 'We hiked to the Silver Lake',
      kind: 'chunk',
      speaker: 'user',
      source: 'extracted',
      label: 'owner',
      sessionId: 'session',
      turnId: 'turn-1',
      threadId: 'session/1',
      position: 1,
      createdAt: now,
    })
    expect(reply).toMatchObject({ speaker: 'assistant', label: 'internal', position: 2, threadId: 'session/1' })
  })

  it('MEM-1 skips courtesies and plain questions, and keeps information', async () => {
    const said = [
      'ok',
      'Thanks a lot!',
      'What am I allergic to?',
      'I am vegan',
      'What should I cook for Anna, who has become a vegan and comes over on Friday?',
    ]
    await index.index('max', [exchange(1, now, ...said)])
    expect(await memory.contents('max', 'chunk')).toEqual(said.slice(3))
  })

  it('MEM-1 does not repeat what the turn stored as a note', async () => {
    const content = 'I am allergic to shellfish'
    await memory.memories.add({ userId: 'max', kind: 'note', content, source: 'user', turnId: 'turn-1' })
    await index.index('max', [exchange(1, now, `Remember that ${content}`, 'user: And my brother sails')])
    expect(await memory.contents('max', 'chunk')).toEqual(['And my brother sails'])
    await index.index('max', [exchange(2, now, `Remember that ${content}`)])
    expect(await memory.contents('max', 'chunk')).toHaveLength(2)
  })

  it('MEM-1 splits long text into passages, and starts a new segment after an hour’s pause', async () => {
    const long = Array.from({ length: 40 }, (_, number) => `Sentence number ${number} of a long story.`).join(' ')
    await index.index('max', [exchange(1, now, long)])
    const minute = 60_000
    await index.index('max', [exchange(2, now + 59 * minute, 'ok')])
    await index.index('max', [exchange(3, now + 118 * minute, 'Still the same sitting here')])
    await index.index('max', [exchange(4, now + 179 * minute, 'Here begins another sitting')])
    const found = (await passages()).toReversed()
    expect(found.map(({ threadId, position }) => `${threadId}:${position}`)).toEqual([
      'session/1:1',
      'session/1:1',
      'session/1:3',
      'session/2:1',
    ])
    for (const { content } of found) expect(content.length).toBeLessThanOrEqual(800)
  })

  it('MEM-1 indexes nothing twice, even if interrupted in the middle', async () => {
    const first = exchange(1, now, 'We hiked to the Silver Lake', 'user: It rained all day long')
    const failing = createConversationIndex({
      ...memory,
      memories: {
        ...memory.memories,
        async addIn(writer, added) {
          if (added.content.includes('rained')) throw new Error('killed')
          return memory.memories.addIn(writer, added)
        },
      },
    })
    await expect(failing.index('max', [first])).rejects.toThrow('killed')
    expect(await passages()).toEqual([])
    expect(await index.through('max', 'session')).toBe(0)
    expect(await index.index('max', [first])).toBe(2)
    expect(await index.index('max', [first])).toBe(0)
    expect(await index.through('max', 'session')).toBe(10)
    expect(await passages()).toHaveLength(2)
  })

  it('MEM-1 treats several turns as one: all of them, or none', async () => {
    const said = ['We hiked to the Silver Lake', 'It rained all day long', 'The hut was closed for the winter']
    const exchanges = said.map((line, number) => exchange(number + 1, now + number, line))
    const failing = createConversationIndex({
      ...memory,
      memories: {
        ...memory.memories,
        async addIn(writer, added) {
          if (added.content === said[2]) throw new Error('killed')
          return memory.memories.addIn(writer, added)
        },
      },
    })
    await expect(failing.index('max', exchanges)).rejects.toThrow('killed')
    expect(await passages()).toEqual([])
    expect(await index.index('max', exchanges.slice(0, 1))).toBe(1)
    expect(await index.index('max', exchanges)).toBe(2)
    expect(await memory.contents('max', 'chunk')).toEqual(said)
    expect((await passages()).map(({ turnId, position }) => `${turnId}:${position}`)).toEqual([
      'turn-3:3',
      'turn-2:2',
      'turn-1:1',
    ])
    expect(await index.through('max', 'session')).toBe(30)
    expect(await index.index('max', [])).toBe(0)
  })

  it('MEM-11 does not restore what was forgotten before it was indexed', async () => {
    const content = 'My locker has the code 4711'
    const corrections = createCorrections(memory)
    const note = await memory.memories.add({ userId: 'max', kind: 'note', content, source: 'user' })
    const told = exchange(1, now, content, 'assistant: Your locker has the code 4711, I see', 'user: And I like plums')
    await memory.clock.advance(1_000)
    await corrections.forget('max', note.memory.id, 'user')
    await memory.clock.advance(1_000)
    const anew = exchange(2, memory.clock.now(), `${content}, write it down`)
    await index.index('max', [told, anew])
    expect(await memory.contents('max', 'chunk')).toEqual(['And I like plums', `${content}, write it down`])
  })

  it('MEM-1 labels text from an untrusted speaker', async () => {
    await index.index('max', [{ ...exchange(1, now, 'We hiked to the Silver Lake'), untrusted: true }])
    expect((await passages())[0]?.label).toBe('untrusted')
    expect(await memory.contents('eve', 'chunk')).toEqual([])
  })
})
