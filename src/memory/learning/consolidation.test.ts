import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  exchange,
  type LearningMemory,
  noModel,
  openLearningMemory,
  scriptedAnswers,
} from '../../../test/support/learning-memory.ts'
import { sameDatabase, testEngine } from '../../../test/support/open-test-database.ts'
import { createConsolidation, createFileConsolidation, splitStretch } from './consolidation.ts'
import type { Exchange } from './exchange.ts'

let memory: LearningMemory
let now: number
const { signal } = new AbortController()
const none = { episodes: 0, facts: 0, commitments: 0, aliases: 0 }

beforeEach(async () => {
  memory = await openLearningMemory()
  now = memory.clock.now()
})

afterEach(() => memory.close())

function consolidator(...answers: Parameters<typeof scriptedAnswers>) {
  const { askModel, asked } = scriptedAnswers(...answers)
  const consolidation = createConsolidation({ ...memory, askModel })
  const stretch = (exchanges: readonly Exchange[]) => ({ userId: 'max', sessionId: 'session', exchanges, signal })
  return {
    ...consolidation,
    asked,
    run: (exchanges: readonly Exchange[]) => consolidation.consolidate(stretch(exchanges)),
    prepareFor: (exchanges: readonly Exchange[]) => consolidation.prepare(stretch(exchanges)),
  }
}

const trip = () => [
  exchange(1, now, 'Bea and I plan a trip to Lisbon in March', 'assistant: Shall I look for trains?'),
  exchange(2, now + 60_000, 'Yes, we take the night train. Bea is a marine biologist, Bea is short for Beatrice.'),
]
const answer = {
  episode: {
    summary: 'The user and Bea planned a trip to Lisbon in March and chose the night train.',
    topics: ['Lisbon'],
    decisions: ['They take the night train', 'They buy a castle'],
    tone: 'cheerful',
  },
  facts: [{ entity: 'Bea', attribute: 'occupation', value: 'marine biologist', confidence: 0.9 }],
  commitments: [],
  aliases: [{ alias: 'Bea', entity: 'Beatrice' }],
}

/** Enough long turns for that many parts. */
function longTalk(parts: number): Exchange[] {
  const filler = 'and then we walked on along the quiet river '.repeat(110)
  return Array.from({ length: parts * 4 }, (_, index) =>
    exchange(index + 1, now + index * 1_000, `We reached village number ${index + 1} ${filler}`),
  )
}

/** One fact and one episode of the first village in the part. */
function ofFirstVillage(text: string): string {
  const number = /village number (\d+)/.exec(text)?.[1]
  return JSON.stringify({
    episode: { summary: `We walked along the quiet river to village number ${number}`, topics: [], decisions: [] },
    facts: [{ entity: 'user', attribute: 'visited', value: `village number ${number}` }],
  })
}

describe('createConsolidation', () => {
  it('MEM-9 writes an episode with its mentions, facts and names', async () => {
    const note = { userId: 'max', kind: 'note', content: 'Bea plans a trip', source: 'extracted' } as const
    const { memory: kept } = await memory.memories.add({ ...note, turnId: 'turn-1' })
    const { run } = consolidator(JSON.stringify(answer))
    expect(await run(trip())).toEqual({ ok: true, parts: 1, added: { ...none, episodes: 1, facts: 1, aliases: 1 } })
    const [episode] = await memory.episodes.list('max', { limit: 5 })
    expect(episode).toMatchObject({
      summary: answer.episode.summary,
      topics: ['Lisbon'],
      decisions: ['They take the night train'],
      tone: 'cheerful',
      startedAt: now,
      endedAt: now + 60_000,
    })
    const [fact] = await memory.facts.find({ userId: 'max', entity: 'Beatrice' })
    const edges = await memory.graph.edges('max', { ids: [episode?.id ?? ''], limit: 10 })
    expect(edges.map(({ targetId, relation }) => [targetId, relation]).toSorted()).toEqual(
      [
        [kept.id, 'mentions'],
        [fact?.id, 'mentions'],
      ].toSorted(),
    )
  })

  it('MEM-9 adds nothing in a second run, and asks nothing', async () => {
    const { run, asked } = consolidator(JSON.stringify(answer))
    await run(trip())
    const first = await memory.everything()
    expect(await run(trip())).toEqual({ ok: true, parts: 0, added: none })
    expect(asked).toHaveLength(1)
    expect(await memory.everything()).toEqual(first)
  })

  it('MEM-9 continues after earlier work', async () => {
    const { run, asked } = consolidator(JSON.stringify(answer), '{"episode": null}')
    await run(trip())
    await run([...trip(), exchange(3, now + 90_000, 'Tom lent us his big suitcase')])
    expect(asked[1]?.text).toBe('[Sunday, 2026-11-15]\nUSER: Tom lent us his big suitcase')
  })

  it('MEM-9 stores no trivial episode, none about the agent, and none without evidence', async () => {
    const summaries = [
      'Small talk.',
      'The assistant could not call the trip tool for Lisbon in March by night train.',
      'Aliens landed on Mars yesterday and ate seven purple elephants.',
    ]
    for (const [place, summary] of summaries.entries()) {
      const { run } = consolidator(JSON.stringify({ episode: { summary, topics: [], decisions: [] } }))
      await run([exchange(place + 1, now, 'We plan a trip to Lisbon in March by night train')])
    }
    expect(await memory.episodes.list('max', { limit: 5 })).toEqual([])
    const { run, asked, through } = consolidator(JSON.stringify(answer))
    expect(await run([exchange(4, now, 'hello', 'assistant: Hello! How are you?')])).toMatchObject({
      ok: true,
      parts: 1,
    })
    expect(asked).toEqual([])
    expect(await through('max', 'session')).toBe(40)
  })

  it('MEM-9 reports that there is no model, and marks nothing', async () => {
    const { run, through } = consolidator(noModel)
    expect(await run(trip())).toEqual({ ...noModel, added: none })
    expect(await through('max', 'session')).toBe(0)
  })

  it('MEM-9 splits a long segment into the same parts every time, each done with its watermark', async () => {
    const talk = longTalk(6)
    const parts = splitStretch(talk, 'UTC')
    // More than are asked concurrently.
    expect(parts.length).toBeGreaterThan(4)
    expect(splitStretch(talk.slice(0, -1), 'UTC').slice(0, -1)).toEqual(parts.slice(0, -1))
    const { run, through } = consolidator(ofFirstVillage)
    expect(await run(talk)).toMatchObject({ ok: true, parts: parts.length, added: { episodes: parts.length } })
    expect(await through('max', 'session')).toBe(240)
  })

  it('MEM-9 completes after a failure in the middle, without duplicates', async () => {
    const talk = longTalk(6)
    const parts = splitStretch(talk, 'UTC').length
    const whole = await openLearningMemory()
    await createConsolidation({ ...whole, ...scriptedAnswers(ofFirstVillage) }).consolidate({
      userId: 'max',
      sessionId: 'session',
      exchanges: talk,
      signal,
    })
    const reached = new Set<string>()
    const failing = createConsolidation({
      ...memory,
      ...scriptedAnswers(ofFirstVillage),
      episodes: {
        ...memory.episodes,
        async addIn(writer, episode) {
          reached.add(String(episode.memoryId))
          const added = await memory.episodes.addIn(writer, episode)
          if (reached.size === 3) throw new Error('killed')
          return added
        },
      },
    })
    const stretch = { userId: 'max', sessionId: 'session', exchanges: talk, signal }
    await expect(failing.consolidate(stretch)).rejects.toThrow('killed')
    expect(await memory.contents('max', 'episode')).toHaveLength(2)
    const { run } = consolidator(ofFirstVillage)
    expect(await run(talk)).toMatchObject({ ok: true, parts: parts - 2 })
    for (const kind of ['episode', 'fact'] as const) {
      expect(await memory.contents('max', kind)).toEqual(await whole.contents('max', kind))
    }
    await whole.close()
  })

  it('MEM-9 completes after the process was killed in the middle', async () => {
    const { home } = memory
    const { url = '' } = await sameDatabase(home)
    await memory.close({ keep: true })
    const child = `
      import { exchange, openLearningMemory } from './test/support/learning-memory.ts'
      import { createConsolidation } from './src/memory/learning/consolidation.ts'
      const memory = await openLearningMemory({ home: process.env.HOME_OF_TEST, url: process.env.URL_OF_TEST || undefined })
      const episodes = { ...memory.episodes, async addIn(writer, episode) {
        const added = await memory.episodes.addIn(writer, episode)
        if (episode.summary.includes('number 2')) process.kill(process.pid, 'SIGKILL')
        return added
      } }
      const filler = 'and then we walked on along the quiet river '.repeat(250)
      const askModel = async ({ text }) => {
        const number = /village number (\\d+)/.exec(text)[1]
        const summary = 'We walked along the quiet river to village number ' + number
        return { ok: true, text: JSON.stringify({ episode: { summary }, facts: [
          { entity: 'user', attribute: 'visited', value: 'village number ' + number }] }) }
      }
      const exchanges = [1, 2, 3].map((n) => exchange(n, memory.clock.now(), 'We reached village number ' + n, filler, filler))
      const consolidation = createConsolidation({ ...memory, episodes: process.env.KILL ? episodes : memory.episodes, askModel })
      const outcome = await consolidation.consolidate({
        userId: 'max', sessionId: 'session', exchanges, signal: new AbortController().signal })
      await memory.close({ keep: true })
      console.log(outcome.parts)`
    const run = (kill: string) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', child], {
        env: { HOME_OF_TEST: home, URL_OF_TEST: url, FAMILIAR_TEST_ENGINE: testEngine, KILL: kill },
        encoding: 'utf8',
      })
    expect(() => run('yes')).toThrow()
    expect(run('').trim()).toBe('2')
    expect(run('').trim()).toBe('0')
    memory = await openLearningMemory({ home })
    expect(await memory.contents('max', 'fact')).toEqual([1, 2, 3].map((n) => `user visited village number ${n}`))
    expect(await memory.contents('max', 'episode')).toHaveLength(3)
  })

  it('MEM-9 returns the last part to the unit that replaces the conversation by its summary', async () => {
    const talk = longTalk(3)
    const parts = splitStretch(talk, 'UTC').length
    const { prepareFor, asked, through } = consolidator(ofFirstVillage)
    const write = await prepareFor(talk)
    expect(asked).toHaveLength(parts)
    expect(await memory.contents('max', 'episode')).toHaveLength(parts - 1)
    await expect(
      memory.database.write(async (writer) => {
        await write?.(writer)
        throw new Error('the swap failed')
      }),
    ).rejects.toThrow('the swap failed')
    expect(await memory.contents('max', 'episode')).toHaveLength(parts - 1)
    await memory.database.write(async (writer) => write?.(writer))
    expect(await memory.contents('max', 'episode')).toHaveLength(parts)
    expect(await through('max', 'session')).toBe(120)
    expect(await prepareFor(talk)).toBeUndefined()
    const first = await memory.everything()
    await memory.clock.advance(1_000)
    await memory.database.write(async (writer) => write?.(writer))
    expect(await memory.everything()).toEqual(first)
  })

  it('MEM-9 skips a part after three failures, and logs it', async () => {
    const { run, through, trouble } = consolidator('no JSON')
    for (let round = 0; round < 2; round += 1) {
      expect(await run(trip())).toEqual({
        ok: false,
        reason: 'failed',
        message: 'the answer contains no JSON',
        added: none,
      })
    }
    expect(await through('max', 'session')).toBe(0)
    expect(await run(trip())).toEqual({ ok: true, parts: 1, added: none })
    expect(await through('max', 'session')).toBe(20)
    expect(await trouble('max')).toMatchObject({ failures: 3, passedOver: 1 })
  })
})

describe('createFileConsolidation', () => {
  it('MEM-9 reads a file once per version', async () => {
    const { askModel, asked } = scriptedAnswers(JSON.stringify({ ...answer, episode: answer.episode }))
    const consolidateFile = createFileConsolidation({ ...memory, askModel })
    const file = { userId: 'max', path: 'MEMORY.md', at: now, signal }
    const text = 'Beatrice (Bea) is a marine biologist.'
    expect(await consolidateFile({ ...file, text })).toEqual({
      ok: true,
      parts: 1,
      added: { ...none, facts: 1, aliases: 1 },
    })
    expect(await consolidateFile({ ...file, text })).toEqual({ ok: true, parts: 0, added: none })
    expect(asked).toHaveLength(1)
    expect(await consolidateFile({ ...file, text: `${text}\nShe sails.` })).toEqual({ ok: true, parts: 1, added: none })
    expect(await memory.contents('max', 'episode')).toEqual([])
  })

  it('MEM-9 resumes a file at the part where it stopped', async () => {
    const text = [1, 2, 3].map((n) => `Village number ${n}. ${'The river is quiet. '.repeat(900)}`).join('\n\n')
    const stop = { ok: false, reason: 'budget', message: 'spent' } as const
    const first = scriptedAnswers('{"facts": [{"entity": "river", "attribute": "is", "value": "quiet"}]}', stop)
    const file = { userId: 'max', path: 'memory/trip.md', at: now, text, signal }
    expect(await createFileConsolidation({ ...memory, ...first })(file)).toMatchObject({ ...stop, added: { facts: 1 } })
    const second = scriptedAnswers('{}')
    expect(await createFileConsolidation({ ...memory, ...second })(file)).toMatchObject({ ok: true, parts: 2 })
    expect(second.asked[0]?.text).toContain('Village number 2')
    const withoutModel = createFileConsolidation({ ...memory, ...scriptedAnswers(noModel) })
    expect(await withoutModel({ ...file, path: 'other.md' })).toMatchObject({ ok: false, reason: 'no_model' })
  })
})
