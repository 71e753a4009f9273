import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Database } from '../../src/storage/database.ts'
import { openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import { createPostgresDatabase } from '../support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { openIn, temporaryDirectory } from './storage-support.ts'

// Few words, so that texts share them; stems, accents, unspaced scripts and marks among them.
const words = `garden gardens gardening café cafe Kiel run running runner relational relation allergic allergies the of
  shellfish 過敏 敏過 東京 寿司 ข้าวผัด 서울에서 हिन्दी हिन्दू naïve Ωμέγα 12 x`.split(/\s+/)
const text = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 }).map((list) => list.join(' '))

describe.skipIf(whyNoPostgres() !== undefined)('full text on both engines', () => {
  test('SCALE-1 STORE-5 a question gets the same texts in the same order, with the same scores', async () => {
    using directory = temporaryDirectory()
    await using made = await createPostgresDatabase({ migrated: true })
    const sqlite = await openIn(directory.path)
    const postgres = await openPostgres({ url: made.url, clock: systemClock(), poolSize: 4 })
    let round = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 3, maxLength: 20 }),
        fc.array(text, { maxLength: 4 }),
        async (texts, questions) => {
          round += 1
          const userId = `user-${round}`
          for (const database of [sqlite, postgres]) await indexAll(database, userId, texts)
          for (const question of questions) {
            const asked = { collection: 'notes', userId, words: question, limit: 10 }
            const [here, there] = [await sqlite.textSearch.search(asked), await postgres.textSearch.search(asked)]
            expect(there.map(({ id }) => id)).toEqual(here.map(({ id }) => id))
            for (const [index, { score }] of there.entries()) expect(score).toBeCloseTo(here[index]?.score ?? 0, 5)
            // The last word is cut, as it is while a user types.
            const typed = { ...asked, words: question.slice(0, -1), isEveryWord: true, isTyping: true }
            const [typedHere, typedThere] = [
              await sqlite.textSearch.search(typed),
              await postgres.textSearch.search(typed),
            ]
            expect(typedThere.map(({ id }) => id)).toEqual(typedHere.map(({ id }) => id))
            const all = { ...asked, words: question.split(' '), limit: 100 }
            const [allHere, allThere] = [await sqlite.textSearch.withAll(all), await postgres.textSearch.withAll(all)]
            expect(allThere.toSorted()).toEqual(allHere.toSorted())
          }
        },
      ),
      { numRuns: process.env.FAMILIAR_TEST_ALL ? 20 : 4, endOnFailure: true },
    )
    await Promise.all([sqlite.close(), postgres.close()])
  }, 60_000)

  test('SEC-13 a secret is taken out of a text before it is cut into words', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    const redact = (given: string) => given.replaceAll('sk-live 4711', '[secret]')
    const database = await openPostgres({ url: made.url, clock: systemClock(), poolSize: 4, redact })
    await indexAll(database, 'user', ['my key is sk-live 4711'])
    const found = await database.pool.query('select word from text_index order by word')
    expect(found.rows.map(({ word }) => word)).toEqual(['is', 'kei', 'my', 'secret'])
    await database.close()
  })

  test('SCALE-2 new texts of many units at once do not conflict', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    const database = await openPostgres({ url: made.url, clock: systemClock(), poolSize: 12 })
    let runs = 0
    const units = Array.from({ length: 60 }, (_, index) =>
      database.write(async (writer) => {
        runs += 1
        const entry = { collection: 'notes', userId: `user-${index % 3}`, id: `id-${String(index).padStart(3, '0')}` }
        await database.textSearch.index(writer, { ...entry, text: 'the same words in all of them' })
      }),
    )
    await Promise.all(units)
    expect(runs).toBe(60)
    const question = { collection: 'notes', userId: 'user-0', words: 'words', limit: 100 }
    expect(await database.textSearch.search(question)).toHaveLength(20)
    await database.close()
  })
})

async function indexAll(database: Database, userId: string, texts: readonly string[]): Promise<void> {
  await database.write(async (writer) => {
    for (const [index, each] of texts.entries()) {
      await database.textSearch.index(writer, {
        collection: 'notes',
        userId,
        id: `${userId}-${index}`,
        text: each,
      })
    }
  })
}
