import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Database, fromVectorBytes, toVectorBytes, type VectorSearch } from '../../src/storage/database.ts'
import { addVectors, forgetMemory, type NewVector, randomVector } from './vector-search-support.ts'

export interface VectorSearchUnderTest {
  database: Database
  search: VectorSearch
  /** How much of the true best it must find among ten thousand: 1 where it looks at every vector. */
  leastRecall: number
  dispose(): Promise<void>
}

/** The contract of every engine's search, run against the real thing. */
export function describeVectorSearch(name: string, open: () => Promise<VectorSearchUnderTest>): void {
  describe(`vector search on ${name}`, () => {
    let underTest: VectorSearchUnderTest
    let search: VectorSearch

    beforeEach(async () => {
      underTest = await open()
      search = underTest.search
      await underTest.database.write(async (writer) => {
        const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: 1 }))
        await writer.insertInto('users').values(users).execute()
      })
    })
    afterEach(() => underTest.dispose())

    const add = (...vectors: NewVector[]) => addVectors(underTest.database, vectors)
    const ask = (vector: number[], options: Partial<{ userId: string; model: string; limit: number }> = {}) =>
      search.search({ userId: 'max', model: 'one', limit: 10, vector: Float32Array.from(vector), ...options })
    const numbersOf = async (...question: Parameters<typeof ask>) =>
      (await ask(...question)).map((match) => match.number)

    test('MEM-3 the nearest comes first, by the angle and not by the length', async () => {
      const [far, near, nearest, against] = await add([0, 1, 0], [9, 4, 0], [0.2, 0.02, 0], [-1, 0, 0])
      const matches = await ask([1, 0, 0])
      expect(matches.map((match) => match.number)).toEqual([nearest, near, far, against])
      expect(matches[0]?.score).toBeCloseTo(1 / Math.hypot(1, 0.1), 2)
      expect(matches.at(-1)?.score).toBeCloseTo(-1, 5)
    })

    test('MEM-3 among equals the newer memory comes first', async () => {
      const added = await add([1, 1], [2, 2], [1, 1])
      expect(await numbersOf([3, 3])).toEqual(added.toReversed())
      expect(await numbersOf([3, 3], { limit: 2 })).toEqual(added.toReversed().slice(0, 2))
    })

    test("MEM-1 another user's vectors never appear", async () => {
      await add({ vector: [1, 0], userId: 'eve' })
      expect(await ask([1, 0])).toEqual([])
      const [own] = await add([0, 1])
      expect(await numbersOf([1, 0])).toEqual([own])
    })

    test('MEM-15 vectors of different models are not compared', async () => {
      await add({ vector: [1, 0, 0], model: 'two' })
      const [one] = await add([0, 1])
      expect(await numbersOf([1, 0])).toEqual([one])
    })

    test('MEM-3 nothing stored, nothing wanted and no direction give no matches', async () => {
      expect(await ask([1, 0])).toEqual([])
      await add([1, 0])
      expect(await ask([1, 0], { limit: 0 })).toEqual([])
      expect(await ask([0, 0])).toEqual([])
    })

    test('MEM-3 a limit beyond what there is gives all of it', async () => {
      const added = await add([1, 0], [0, 1])
      expect(await numbersOf([1, 0.5], { limit: 1000 })).toEqual(added)
    })

    test('MEM-6 finds what was committed before the question', async () => {
      for (let round = 0; round < 5; round += 1) {
        const [added] = await add([round, 1])
        expect(await numbersOf([round, 1], { limit: 1 })).toEqual([added])
      }
    })

    test('MEM-3 an older memory that gets its vector late is found', async () => {
      const { database } = underTest
      const [old, young] = await add([1, 0], [0, 1])
      const row = await database.read
        .selectFrom('memory_vectors')
        .select(['number', 'user_id', 'model', 'text_hash', 'vector'])
        .where('number', '=', old ?? 0)
        .executeTakeFirstOrThrow()
      await database.write((writer) => writer.deleteFrom('memory_vectors').where('number', '=', row.number).execute())
      expect(await numbersOf([1, 0])).toEqual([young])
      await database.write((writer) => writer.insertInto('memory_vectors').values(row).execute())
      expect(await numbersOf([1, 0])).toEqual([old, young])
    })

    test('MEM-11 deleted vectors are gone after the next change at the latest', async () => {
      const [first, second] = await add([1, 0], [0.9, 0.1])
      expect(await numbersOf([1, 0])).toEqual([first, second])
      await forgetMemory(underTest.database, first)
      const [third] = await add([0.5, 0.5])
      expect(await numbersOf([1, 0])).toEqual([second, third])
    })

    test('MEM-11 when most of many are deleted, what is left is found', async () => {
      const angles = Array.from({ length: 60 }, (_, index) => (index * Math.PI) / 120)
      const added = await add(...angles.map((angle) => [Math.cos(angle), Math.sin(angle)]))
      expect(await numbersOf([1, 0], { limit: 3 })).toEqual(added.slice(0, 3))
      for (const number of added.slice(0, -3)) await forgetMemory(underTest.database, number)
      await add([-1, 0])
      expect(await numbersOf([1, 0], { limit: 3 })).toEqual(added.slice(-3))
    })

    test('MEM-15 a vector that was replaced counts as it is now', async () => {
      const { database } = underTest
      const [moved, fixed] = await add([1, 0], [0.5, 0.5])
      expect(await numbersOf([1, 0])).toEqual([moved, fixed])
      await database.write(async (writer) => {
        await writer
          .deleteFrom('memory_vectors')
          .where('number', '=', moved ?? 0)
          .execute()
        const vector = toVectorBytes(Float32Array.of(0, 1))
        const row = { number: moved ?? 0, user_id: 'max', model: 'one', text_hash: 'new', vector }
        await writer.insertInto('memory_vectors').values(row).execute()
      })
      expect(await numbersOf([1, 0])).toEqual([fixed, moved])
      expect(await numbersOf([0, 1])).toEqual([moved, fixed])
    })

    test('MEM-15 a question of other dimensions is refused, and says so', async () => {
      await add([1, 0, 0])
      const refused = { code: 'bad_request', message: expect.stringMatching(/2 dimensions.*\bone\b.*\b3\b/) }
      await expect(ask([1, 0])).rejects.toMatchObject(refused)
      expect(await ask([1, 0, 0])).toHaveLength(1)
    })

    test('MEM-3 a question that holds no numbers is refused', async () => {
      await expect(ask([1, Number.NaN])).rejects.toMatchObject({ code: 'bad_request' })
    })

    test('MEM-3 ten thousand random vectors rank as a plain calculation ranks them', async () => {
      const dimensions = 100
      const vectors = Array.from({ length: 10_000 }, (_, index) => randomVector(index + 1, dimensions))
      const added = await add(...vectors)
      const stored = new Map(vectors.map((vector, index) => [added[index], fromVectorBytes(toVectorBytes(vector))]))
      for (let round = 0; round < 5; round += 1) {
        const question = randomVector(-1 - round, dimensions)
        const expected = [...stored.values()].map((vector) => cosine(question, vector)).sort((a, b) => b - a)
        const matches = await search.search({ userId: 'max', model: 'one', vector: question, limit: 100 })
        expect(new Set(matches.map((match) => match.number)).size).toBe(100)
        for (const { number, score } of matches) {
          expect(score).toBeCloseTo(cosine(question, stored.get(number) ?? question), 4)
        }
        expect(matches.map((match) => match.score)).toEqual(matches.map((match) => match.score).sort((a, b) => b - a))
        // Two that are all but equal may change places.
        const amongBest = matches.filter(({ score }) => score > (expected[99] ?? 1) - 1e-4)
        expect(amongBest.length).toBeGreaterThanOrEqual(100 * underTest.leastRecall)
      }
    }, 120_000)

    test('MEM-3 questions at once get each their own answer', async () => {
      const added = await add([1, 0, 0], [0, 1, 0], [0, 0, 1])
      const questions = [0, 1, 2].map((axis) => [0, 1, 2].map((index) => (index === axis ? 1 : 0)))
      const answers = await Promise.all(questions.map((question) => numbersOf(question, { limit: 1 })))
      expect(answers.flat()).toEqual(added)
    })

    test('MEM-3 a question that is given up rejects at once', async () => {
      await add([1, 0])
      const question = { userId: 'max', model: 'one', vector: Float32Array.of(1, 0), limit: 1 }
      await expect(search.search({ ...question, signal: AbortSignal.abort('enough') })).rejects.toBe('enough')
      const controller = new AbortController()
      const answer = search.search({ ...question, signal: controller.signal })
      controller.abort('enough')
      await expect(answer).rejects.toBe('enough')
      expect(await search.search(question)).toHaveLength(1)
    })

    test('MEM-3 after the close a question is refused', async () => {
      await add([1, 0])
      const answer = ask([1, 0])
      await search.close()
      await answer.catch((error) => expect(error).toMatchObject({ code: 'unavailable' }))
      await expect(ask([1, 0])).rejects.toMatchObject({ code: 'unavailable' })
      await search.close()
    })
  })
}

function cosine(a: Float32Array, b: Float32Array): number {
  const product = a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
  return product / (Math.hypot(...a) * Math.hypot(...b))
}
