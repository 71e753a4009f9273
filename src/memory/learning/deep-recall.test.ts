import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type LearningMemory,
  noModel,
  openLearningMemory,
  scriptedAnswers,
} from '../../../test/support/learning-memory.ts'
import type { Recall } from '../recall/recall.ts'
import {
  createDeepRecall,
  createSynthesis,
  type DeepRecallProgress,
  mergeByRank,
  type SynthesisStyle,
} from './deep-recall.ts'

let memory: LearningMemory
const { signal } = new AbortController()

beforeEach(async () => {
  memory = await openLearningMemory()
})

afterEach(() => memory.close())

/** Searches by words, ranked by matches: enough to see the queries and the merge. */
function recallByWords(): Recall & { asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    async recall({ userId, text, limit }) {
      asked.push(text)
      const query = { collection: 'memories', userId, words: text, limit }
      const matches = await memory.database.textSearch.search(query)
      const found = await memory.memories.getMany(
        userId,
        matches.map((match) => match.id),
      )
      return found.map((item, index) => ({
        memory: item,
        score: matches[index]?.score ?? 0,
        explain: { signals: [], cosine: null, strength: 1 },
      }))
    },
  }
}

async function note(content: string): Promise<string> {
  const added = await memory.memories.add({ userId: 'max', kind: 'note', content, source: 'user' })
  return added.memory.id
}

async function ask(
  question: string,
  answers: Parameters<typeof scriptedAnswers>,
  style: SynthesisStyle = 'structured',
) {
  const { askModel, asked } = scriptedAnswers(...answers)
  const recall = recallByWords()
  const deepRecall = createDeepRecall({
    ...memory,
    recall,
    askModel,
    synthesise: createSynthesis({ askModel, timeZone: 'UTC' }),
  })
  const progress: DeepRecallProgress[] = []
  const answer = await deepRecall({
    userId: 'max',
    sessionId: null,
    question,
    limit: 5,
    style,
    signal,
    onProgress: (event) => progress.push(event),
  })
  return { answer, progress, asked, searched: recall.asked, found: answer.memories.map((item) => item.memory.content) }
}

describe('createDeepRecall', () => {
  it('MEM-7 asks in several ways, merges the results, and reports progress', async () => {
    const sailing = await note('We sailed across the lake with Anna')
    const boat = await note('The boat was rented in August')
    await note('Tom likes chess')
    const searches = ['sailing lake', 'boat August', 'Sailing Lake', 'What did we do on the water?', 7, '']
    const { answer, progress, found, searched } = await ask('What did we do on the water?', [
      JSON.stringify({ searches }),
    ])
    expect(searched).toEqual(['What did we do on the water?', 'sailing lake', 'boat August'])
    expect(found.toSorted()).toEqual(['The boat was rented in August', 'We sailed across the lake with Anna'])
    expect(progress).toEqual([
      { status: 'expanding', query: 'What did we do on the water?' },
      { status: 'searching', searches: answer.searches },
      { status: 'found', count: 2, memories: answer.memories.map((item) => item.memory.id) },
    ])
    expect(answer.memories.map((item) => item.memory.id).toSorted()).toEqual([sailing, boat].toSorted())
    expect(answer.note).toBeUndefined()
  })

  it('MEM-7 follows the graph two steps, ranked below search results', async () => {
    const [lake, anna, rome, far] = [
      await note('We sailed across the lake'),
      await note('Anna steered'),
      await note('She moved to Rome'),
      await note('Rome has hills'),
    ]
    for (const [sourceId, targetId] of [
      [lake, anna],
      [anna, rome],
      [rome, far],
    ] as const) {
      await memory.graph.link('max', { sourceId, targetId, relation: 'mentions', weight: 0.5 })
    }
    const { answer } = await ask('lake', [noModel])
    expect(answer.memories.map(({ memory: item, relation }) => [item.id, relation])).toEqual([
      [lake, undefined],
      [anna, 'mentions'],
      [rome, 'mentions'],
    ])
    const scores = answer.memories.map((item) => item.score)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    expect(answer.memories.map((item) => item.relevance)).toEqual([1, 0.5, 0.25])
  })

  it('MEM-7 asks the plain question alone without a model, or if its answer is malformed', async () => {
    await note('We sailed across the lake')
    for (const answer of [noModel, 'sailing, boats', '{"searches": "lake"}', '{"searches": [{}]}']) {
      const { searched, found, answer: told } = await ask('the lake', [answer])
      expect(searched).toEqual(['the lake'])
      expect(found).toEqual(['We sailed across the lake'])
      expect(told.note).toBeTruthy()
    }
  })

  it('MEM-7 uses at most five further searches', async () => {
    const searches = Array.from({ length: 50 }, (_, index) => `search ${index}`)
    expect((await ask('lake', [JSON.stringify(searches)])).searched).toHaveLength(6)
  })

  it("MEM-7 finds no other user's memories, and reports an empty result", async () => {
    await memory.memories.add({ userId: 'eve', kind: 'note', content: 'Eve sailed the lake', source: 'user' })
    const { answer } = await ask('lake', ['["lake boat"]'], 'narrative')
    expect(answer.memories).toEqual([])
    expect(answer.synthesis).toEqual({ style: 'structured', text: 'Nothing found.' })
  })
})

describe('createSynthesis', () => {
  it('MEM-7 summarizes by kind, with days and citations, without a model', async () => {
    const id = await note('We sailed\nacross the lake')
    const { facts } = memory
    const written = await facts.write({
      userId: 'max',
      entity: 'Anna',
      attribute: 'lake',
      value: 'Como',
      source: 'user',
    })
    const { answer, asked } = await ask('lake', ['[]'])
    expect(asked).toHaveLength(1)
    expect(answer.synthesis.text).toBe(
      [
        'Facts:',
        `- 2026-11-15 Anna: lake is Como [memory:${written.fact.id}]`,
        '',
        'Notes:',
        `- 2026-11-15 We sailed across the lake [memory:${id}]`,
      ].join('\n'),
    )
  })

  it('MEM-7 lets the model write if requested, and falls back with a note', async () => {
    await note('We sailed across the lake')
    const told = await ask('lake', ['[]', ' You sailed. '], 'narrative')
    expect(told.answer.synthesis).toEqual({ style: 'narrative', text: 'You sailed.' })
    expect(told.asked[1]?.text).toMatch(/^QUESTION: lake\n\nMEMORIES:\nNotes:\n- 2026-11-15 We sailed/)
    const without = await ask('lake', [noModel], 'factual')
    expect(without.answer.synthesis).toMatchObject({
      style: 'structured',
      note: 'Not written as factual: No language model is configured',
    })
    expect(without.answer.synthesis.text).toContain('We sailed across the lake')
  })
})

describe('mergeByRank', () => {
  const items = (...scored: [string, number][]) => scored.map(([id, score]) => ({ id, score, item: id }))

  it('MEM-7 ranks items of several lists first, and counts the plain question double', () => {
    const merged = mergeByRank([
      { items: items(['a', 9], ['b', 8.9]), weight: 2 },
      { items: items(['b', 1], ['c', 1]), weight: 1 },
    ])
    expect(merged.map(({ id }) => id)).toEqual(['b', 'a', 'c'])
    const once = mergeByRank([
      { items: items(['a', 1]), weight: 1 },
      { items: items(['b', 1]), weight: 2 },
    ])
    expect(once.map(({ id }) => id)).toEqual(['b', 'a'])
  })

  it("MEM-7 keeps a memory's relevance in its list", () => {
    const merged = mergeByRank([
      { items: items(['a', 10], ['b', 1]), weight: 1 },
      { items: items(['c', 5], ['b', 0]), weight: 1 },
    ])
    expect(merged.map(({ id, relevance }) => [id, relevance])).toEqual([
      ['a', 1],
      ['c', 1],
      ['b', 0.1],
    ])
  })

  it('MEM-7 keeps each item once, whatever the lists', () => {
    const list = fc.array(
      fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), score: fc.float({ noNaN: true }), item: fc.constant(0) }),
    )
    fc.assert(
      fc.property(fc.array(list), (lists) => {
        const merged = mergeByRank(lists.map((entries) => ({ items: entries, weight: 1 })))
        expect(merged.map(({ id }) => id).toSorted()).toEqual([...new Set(lists.flat().map(({ id }) => id))].toSorted())
      }),
    )
  })
})
