import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import type { NewEpisode } from './episodes.ts'

let store: MemoryStore

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

function add(change: Partial<NewEpisode> = {}) {
  const episode: NewEpisode = {
    userId: 'max',
    summary: 'They planned the trip.',
    topics: ['travel', ' Oslo ', 'travel'],
    decisions: ['go in May', 'take the train'],
    tone: 'cheerful',
    startedAt: 1_000,
    endedAt: 2_000,
    source: 'extracted',
    ...change,
  }
  return store.database.write((writer) => store.episodes.addIn(writer, episode))
}

describe('episodes', () => {
  it('MEM-1 an episode is a memory with summary, decisions and topics', async () => {
    const { episode, isNew } = await add()
    expect(isNew).toBe(true)
    expect(episode).toEqual({
      id: episode.id,
      userId: 'max',
      summary: 'They planned the trip.',
      topics: ['travel', 'Oslo'],
      decisions: ['go in May', 'take the train'],
      tone: 'cheerful',
      startedAt: 1_000,
      endedAt: 2_000,
    })
    expect(await store.episodes.get('max', episode.id)).toEqual(episode)
    expect(await store.episodes.get('eve', episode.id)).toBeUndefined()
    expect(await store.search('max', 'train')).toEqual([
      'They planned the trip.\nDecided: go in May; take the train\nTopics: travel, Oslo',
    ])
    expect((await store.memories.get('max', episode.id))?.createdAt).toBe(2_000)
  })

  it('MEM-9 the same segment makes one episode, whatever the second result', async () => {
    const first = await add({ memoryId: 'stretch' })
    const again = await add({ memoryId: 'stretch', summary: 'Other words.' })
    expect(again).toEqual({ episode: first.episode, isNew: false })
    expect(await add()).toEqual({ episode: first.episode, isNew: false })
    expect((await add({ memoryId: 'stretch', userId: 'eve' })).isNew).toBe(true)
  })

  it('MEM-1 lists those that overlap a time, newest first', async () => {
    for (const [index, startedAt] of [1_000, 3_000, 5_000].entries()) {
      await add({ summary: `episode ${index}`, startedAt, endedAt: startedAt + 1_000 })
    }
    await add({ userId: 'eve', summary: 'another user’s' })
    const listed = async (range: { from?: number; until?: number }, limit = 10) =>
      (await store.episodes.list('max', { limit, ...range })).map((episode) => episode.summary)
    expect(await listed({})).toEqual(['episode 2', 'episode 1', 'episode 0'])
    expect(await listed({}, 1)).toEqual(['episode 2'])
    expect(await listed({ from: 4_000 })).toEqual(['episode 2', 'episode 1'])
    expect(await listed({ from: 2_500, until: 4_500 })).toEqual(['episode 1'])
    expect(await listed({ until: 2_999 })).toEqual(['episode 0'])
  })

  it('MEM-1 an episode without lists is its summary', async () => {
    const { episode } = await add({ topics: [], decisions: [], tone: null, summary: ' Just talk. ' })
    expect(episode.summary).toBe('Just talk.')
    expect((await store.memories.get('max', episode.id))?.content).toBe('Just talk.')
  })
})
