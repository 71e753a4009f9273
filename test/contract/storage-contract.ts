import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../src/storage/database.ts'
import { appendEvent, event, eventNumbers, numbers, seed, total } from './storage-support.ts'

// Also what text seldom holds, the first characters of all above all.
const anyText = fc
  .array(fc.oneof(fc.constantFrom('\u0000', '\u0001', '\u0002'), fc.string({ unit: 'binary' })))
  .map((parts) => parts.join(''))

export interface StorageUnderTest {
  database: Database
  directory: string
  /** Closes and opens the same data again. */
  reopen(): Promise<Database>
  /** The data of a backup, opened like any database. Only where the engine makes backups itself. */
  openBackup?(path: string): Promise<Database>
  dispose(): Promise<void>
}

/** The contract of every engine, run against the real thing. */
export function describeStorage(
  name: string,
  open: () => Promise<StorageUnderTest>,
  { hasBackups = true, keepsOrderOfCalls = true, queryTexts = 2000 } = {},
): void {
  describe(`storage on ${name}`, () => {
    let storage: StorageUnderTest
    let database: Database

    beforeEach(async () => {
      storage = await open()
      database = storage.database
      await seed(database)
    })
    afterEach(() => storage.dispose())

    test('STORE-1 a unit is all or nothing', async () => {
      const unit = database.write(async (writer) => {
        await appendEvent(writer, 1)
        await appendEvent(writer, 2)
        throw new Error('no')
      })
      await expect(unit).rejects.toThrow('no')
      expect(await eventNumbers(database)).toEqual([])
    })

    test('STORE-1 a unit returns its value and sees its own writes', async () => {
      const seen = await database.write(async (writer) => {
        await appendEvent(writer, 1)
        return writer.selectFrom('session_events').select('seq').execute()
      })
      expect(seen.map((row) => row.seq)).toEqual([1])
    })

    test('STORE-1 a unit that throws before its first statement rejects', async () => {
      const unit = database.write(() => {
        throw new Error('at once')
      })
      await expect(unit).rejects.toThrow('at once')
      await database.write((writer) => appendEvent(writer, 1))
      expect(await eventNumbers(database)).toEqual([1])
    })

    test('STORE-1 reads see only what is committed', async () => {
      const seen = await database.write(async (writer) => {
        await appendEvent(writer, 1)
        let isRead = false
        const read = eventNumbers(database).finally(() => {
          isRead = true
        })
        // A unit may only wait for its own statements.
        while (!isRead) await writer.selectFrom('users').select('id').execute()
        return read
      })
      expect(seen).toEqual([])
      expect(await eventNumbers(database)).toEqual([1])
    })

    test('STORE-1 the reader refuses to write', async () => {
      await expect(database.read.insertInto('session_events').values(event(1)).execute()).rejects.toThrow()
      expect(await eventNumbers(database)).toEqual([])
    })

    test('STORE-1 a thousand units at once are all there after a reopen', async () => {
      await Promise.all(numbers(1, 1000).map((seq) => database.write((writer) => appendEvent(writer, seq))))
      expect(await eventNumbers(await storage.reopen())).toEqual(numbers(1, 1000))
    })

    test('STORE-1 SCALE-1 acknowledged data is read back exactly', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(anyText, fc.string({ unit: 'grapheme', maxLength: 2000 })),
          fc.nat(2 ** 53 - 1),
          async (text, amount) => {
            const data = text.toWellFormed()
            await database.write(async (writer) => {
              await writer.deleteFrom('session_events').execute()
              await writer.deleteFrom('cost_totals').execute()
              await appendEvent(writer, 1, data)
              await writer.insertInto('cost_totals').values(total('day', amount)).execute()
            })
            const stored = await database.read.selectFrom('session_events').select('data').executeTakeFirst()
            const sum = await database.read.selectFrom('cost_totals').select('spent_nanousd').executeTakeFirst()
            expect([stored?.data, sum?.spent_nanousd]).toEqual([data, amount])
          },
        ),
        { numRuns: Math.min(100, queryTexts) },
      )
    })

    test('STORE-2 SCALE-2 units behave as if they ran one after the other', async () => {
      const counts = await Promise.all(
        numbers(1, 300).map((seq) =>
          database.write(async (writer) => {
            await appendEvent(writer, seq)
            const rows = await writer.selectFrom('session_events').select('seq').execute()
            return rows.length
          }),
        ),
      )
      expect(keepsOrderOfCalls ? counts : counts.toSorted((a, b) => a - b)).toEqual(numbers(1, 300))
    })

    test('STORE-2 a failing unit takes none of the others with it', async () => {
      const units = numbers(1, 300).map((seq) =>
        database.write(async (writer) => {
          await appendEvent(writer, seq)
          if (seq % 3 === 1) throw new Error(`unit ${seq}`)
        }),
      )
      const outcomes = await Promise.allSettled(units)
      expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toHaveLength(100)
      expect(await eventNumbers(await storage.reopen())).toEqual(numbers(1, 300).filter((seq) => seq % 3 !== 1))
    })

    test('STORE-2 a unique violation rejects alone, with code conflict', async () => {
      const outcomes = await Promise.allSettled(
        [1, 2, 2, 3].map((seq) => database.write((writer) => appendEvent(writer, seq))),
      )
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
      expect(refused).toMatchObject([{ reason: { code: 'conflict' } }])
      if (keepsOrderOfCalls) expect(outcomes[2]).toBe(refused[0])
      expect(await eventNumbers(database)).toEqual([1, 2, 3])
    })

    test('STORE-2 a unit that catches a failed statement fails all the same', async () => {
      const unit = database.write(async (writer) => {
        await appendEvent(writer, 1)
        await appendEvent(writer, 1).catch(() => {})
        await expect(appendEvent(writer, 2)).rejects.toThrow()
      })
      await expect(unit).rejects.toMatchObject({ code: 'conflict' })
      expect(await eventNumbers(database)).toEqual([])
    })

    test('STORE-2 a unit that waits for anything except its statements is rejected and rolled back', async () => {
      let goOn = () => {}
      let late: Promise<unknown> = Promise.resolve()
      const stuck = database.write(async (writer) => {
        await appendEvent(writer, 1)
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
        late = appendEvent(writer, 2)
        await late
      })
      const next = database.write((writer) => appendEvent(writer, 3))
      await expect(stuck).rejects.toThrow(/waited for something other/)
      await next
      goOn()
      await new Promise((resolve) => setImmediate(resolve))
      await expect(late).rejects.toThrow(/has ended/)
      expect(await eventNumbers(database)).toEqual([3])
    })

    test('STORE-2 a unit that waits for another unit is rejected, the other goes through', async () => {
      let inner: Promise<void> | undefined
      const outer = database.write(async (writer) => {
        await appendEvent(writer, 1)
        inner = database.write((innerWriter) => appendEvent(innerWriter, 2))
        await inner
      })
      await expect(outer).rejects.toThrow(/waited for something other/)
      await inner
      expect(await eventNumbers(database)).toEqual([2])
    })

    test('STORE-2 a writer kept beyond its unit is of no use', async () => {
      const kept = await database.write(async (writer) => ({ append: () => appendEvent(writer, 1) }))
      await expect(kept.append()).rejects.toThrow(/has ended/)
      expect(await eventNumbers(database)).toEqual([])
    })

    test('STORE-1 after close, units and a second close are harmless', async () => {
      const last = database.write((writer) => appendEvent(writer, 1))
      await Promise.all([database.close(), database.close()])
      await last
      await expect(database.write((writer) => appendEvent(writer, 2))).rejects.toMatchObject({ code: 'unavailable' })
      expect(await eventNumbers(await storage.reopen())).toEqual([1])
    })

    describe('the rules that the tables keep', () => {
      test('STORE-1 one active session per user, channel and contact; archived ones do not count', async () => {
        const insert = (id: string, state: 'active' | 'archived') =>
          database.write(async (writer) => {
            const row = await writer
              .selectFrom('sessions')
              .selectAll()
              .where('id', '=', 'session')
              .executeTakeFirstOrThrow()
            await writer
              .insertInto('sessions')
              .values({ ...row, id, state })
              .execute()
          })
        await insert('archived 1', 'archived')
        await insert('archived 2', 'archived')
        await expect(insert('second active', 'active')).rejects.toMatchObject({ code: 'conflict' })
      })

      test('STORE-1 a repeated inbox key is refused, another user may use it', async () => {
        const insert = (id: string, userId: string) =>
          database.write(async (writer) => {
            await writer
              .insertInto('users')
              .values({ id: userId, name: '', role: 'user', created_at: 1 })
              .onConflict((conflict) => conflict.doNothing())
              .execute()
            await writer
              .insertInto('inbox')
              .values({
                id,
                user_id: userId,
                session_id: 'session',
                key: 'telegram:7',
                body_hash: 'hash',
                state: 'queued',
                turn_id: null,
                received_at: 1,
                data: '{}',
              })
              .execute()
          })
        await insert('1', 'user')
        await expect(insert('2', 'user')).rejects.toMatchObject({ code: 'conflict' })
        await insert('3', 'other')
      })

      test('STORE-1 an event of an unknown session is refused', async () => {
        const orphan = { ...event(1), session_id: 'nobody' }
        await expect(
          database.write((writer) => writer.insertInto('session_events').values(orphan).execute()),
        ).rejects.toThrow()
      })
    })

    describe('full text', () => {
      const index = (id: string, text: string, userId = 'user', collection = 'notes') =>
        database.write((writer) => database.textSearch.index(writer, { collection, userId, id, text }))
      const search = async (words: string, userId = 'user', collection = 'notes', limit = 10) =>
        (await database.textSearch.search({ collection, userId, words, limit })).map((match) => match.id)

      test('STORE-5 finds by stem, case and accent, the better match first, with positive scores', async () => {
        await index('allergy', 'I am allergic to shellfish')
        await index('menu', 'The shellfish menu of the café has shellfish and more shellfish')
        await index('other', 'The car needs new tyres')
        expect(await search('SHELLFISH')).toEqual(['allergy', 'menu'])
        expect(await search('the shellfish menu')).toEqual(['menu', 'allergy'])
        expect(await search('cafe')).toEqual(['menu'])
        expect(await search('tyre')).toEqual(['other'])
        expect(await search('What am I allergic to?')).toEqual(['allergy'])
        const matches = await database.textSearch.search({
          collection: 'notes',
          userId: 'user',
          words: 'car',
          limit: 9,
        })
        expect(matches[0]?.score).toBeGreaterThan(0)
      })

      test('STORE-5 words are OR-ed; stop words count only where there is nothing else', async () => {
        await index('1', 'the who live')
        await index('2', 'the garden')
        expect(await search('garden of the unknown')).toEqual(['2'])
        expect(await search('the who')).toContain('1')
        expect(await search('')).toEqual([])
        expect(await search('?!')).toEqual([])
      })

      test('STORE-5 finds part of a run in scripts that do not set words apart', async () => {
        await index('shrimp', '我对虾过敏，对花生不过敏')
        await index('sushi', '昨日は東京で寿司を食べました')
        await index('coffee', '서울에서 커피를 마셨다 with 3杯 of コーヒー')
        await index('rice', 'ฉันชอบข้าวผัดกุ้ง')
        expect(await search('过敏')).toEqual(['shrimp'])
        expect(await search('我对什么过敏？')).toEqual(['shrimp'])
        expect(await search('東京')).toEqual(['sushi'])
        expect(await search('寿司')).toEqual(['sushi'])
        expect(await search('虾')).toEqual(['shrimp'])
        expect(await search('서울')).toEqual(['coffee'])
        expect(await search('커피')).toEqual(['coffee'])
        expect(await search('ヒー')).toEqual(['coffee'])
        expect(await search('ข้าวผัด')).toEqual(['rice'])
        // Its letters are there, but not side by side.
        expect(await search('京都')).toEqual([])
        expect(await search('敏过')).toEqual([])
      })

      test('USERS-1 removes all texts of one user, in every collection, and no others', async () => {
        await index('1', 'a garden in Kiel')
        await index('theirs', 'a garden in Oslo', 'other')
        await database.write((writer) =>
          database.textSearch.index(writer, { collection: 'other', userId: 'other', id: '1', text: 'a garden' }),
        )
        const find = (collection: string) =>
          database.textSearch.search({ collection, userId: 'other', words: 'garden', limit: 9 })
        expect(await find('other')).toHaveLength(1)
        await database.write((writer) => database.textSearch.removeUser(writer, 'other'))
        expect(await find('other')).toEqual([])
        expect(await search('garden')).toEqual(['1'])
        await index('theirs', 'a garden in Oslo', 'other')
        expect(await search('garden')).toEqual(['1'])
      })

      test('STORE-5 finds the texts that hold every word, by stem', async () => {
        await index('1', 'a marine biologist at NOAA')
        await index('2', 'marine biologists of Kiel')
        await index('3', 'a biologist')
        await index('theirs', 'a marine biologist', 'other')
        const withAll = async (words: string[], limit = 9) =>
          (await database.textSearch.withAll({ collection: 'notes', userId: 'user', words, limit })).toSorted()
        expect(await withAll(['Marine', 'biologist'])).toEqual(['1', '2'])
        expect(await withAll(['biologists'])).toEqual(['1', '2', '3'])
        expect(await withAll(['biologist'], 1)).toHaveLength(1)
        expect(await withAll(['marine', 'engineer'])).toEqual([])
        expect(await withAll([])).toEqual([])
        expect(await withAll(['"', '?!'])).toEqual([])
        await index('4', '海洋生物学者')
        expect(await withAll(['生物学'])).toEqual(['4'])
      })

      test('FIND-1 a search field asks for every word, and the last one may be unfinished', async () => {
        const texts = [
          'garden party in Kiel',
          'a garden in Porto',
          'the party',
          '東京で寿司を食べました',
          'موعد جواز السفر',
        ]
        for (const [at, text] of texts.entries()) await index(String(at), text)
        const find = async (words: string, isTyping = true) => {
          const query = { collection: 'notes', userId: 'user', words, limit: 9, isEveryWord: true, isTyping }
          return (await database.textSearch.search(query)).map(({ id }) => id).toSorted()
        }
        expect(await find('garden party')).toEqual(['0'])
        expect(await find('gar')).toEqual(['0', '1'])
        expect(await find('gar', false)).toEqual([])
        expect(await find('party gar')).toEqual(['0'])
        expect(await find('gar party')).toEqual([])
        expect(await find('gar ')).toEqual([])
        expect(await find('garden zebra')).toEqual([])
        expect(await find('寿司')).toEqual(['3'])
        expect(await find('جواز')).toEqual(['4'])
        const within = {
          collection: 'notes',
          userId: 'user',
          words: 'gar',
          limit: 9,
          isEveryWord: true,
          isTyping: true,
        }
        expect(await database.textSearch.search({ ...within, within: ['1', '2'] })).toMatchObject([{ id: '1' }])
      })

      test('STORE-5 a text that is indexed again replaces the old one, a removed one is gone', async () => {
        await index('1', 'apples')
        await index('1', 'pears')
        expect(await search('apples')).toEqual([])
        expect(await search('pears')).toEqual(['1'])
        await database.write((writer) => database.textSearch.remove(writer, { collection: 'notes', id: '1' }))
        await database.write((writer) => database.textSearch.remove(writer, { collection: 'notes', id: 'never there' }))
        expect(await search('pears')).toEqual([])
        expect(await database.checkIntegrity()).toEqual([])
      })

      test('SEC-22 STORE-5 a search finds nothing of another user or collection', async () => {
        await index('mine', 'secret garden')
        await index('theirs', 'secret garden', 'other')
        await index('mine', 'secret garden', 'user', 'episodes')
        await index('elsewhere', 'secret garden', 'user', 'episodes')
        expect(await search('secret')).toEqual(['mine'])
        expect(await search('secret', 'other')).toEqual(['theirs'])
        expect((await search('secret', 'user', 'episodes')).toSorted()).toEqual(['elsewhere', 'mine'])
        expect(await search('secret', 'nobody')).toEqual([])
      })

      test('STORE-5 an index entry belongs to its unit: no commit, no entry', async () => {
        const unit = database.write(async (writer) => {
          await database.textSearch.index(writer, { collection: 'notes', userId: 'user', id: '1', text: 'ghost' })
          throw new Error('no')
        })
        await expect(unit).rejects.toThrow('no')
        expect(await search('ghost')).toEqual([])
      })

      test('STORE-5 at most as many as asked for', async () => {
        for (const id of ['1', '2', '3']) await index(id, 'same words')
        expect(await search('same', 'user', 'notes', 2)).toHaveLength(2)
        expect(await search('same', 'user', 'notes', 0)).toEqual([])
        expect(await search('same', 'user', 'notes', -1)).toEqual([])
      })

      test('STORE-5 no query text ever throws', async () => {
        await index('1', 'NEAR AND OR NOT text scope 東京 हिन्दी naïve')
        const syntax = fc.constantFrom(
          '"',
          "'",
          'NEAR(',
          'AND',
          'OR',
          'NOT',
          ':',
          '*',
          '^',
          '(',
          ')',
          '-',
          '+',
          '{',
          '}',
        )
        const pieces = fc.oneof(
          syntax,
          fc.string({ unit: 'binary' }),
          fc.string({ unit: 'grapheme' }),
          fc.constant(' '),
        )
        const text = fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join(''))
        const lone = fc.constantFrom('\ud800', '\udc00', '\u0000', '\u0301', 'text:x', 'a'.repeat(10_000))
        await fc.assert(
          fc.asyncProperty(fc.oneof(text, lone), async (words) => {
            await database.textSearch.search({ collection: 'notes', userId: 'user', words, limit: 5 })
          }),
          { numRuns: queryTexts },
        )
      }, 60_000)

      test('STORE-5 any text can be indexed and is found by its own words', async () => {
        await fc.assert(
          fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), async (text) => {
            await index('1', `${text} anchor`)
            expect(await search(`${text.slice(0, 20)} anchor`)).toEqual(['1'])
          }),
          { numRuns: Math.min(200, queryTexts) },
        )
      }, 60_000)
    })

    describe('scrubbing', () => {
      test('STORE-7 all that is left is found and sound, whatever is written meanwhile', async () => {
        const { textSearch } = database
        const entry = (seq: number) => ({
          collection: 'notes',
          userId: 'user',
          id: `${seq}`,
          text: `word${seq} common`,
        })
        for (const seq of numbers(1, 60)) {
          await database.write(async (writer) => {
            await appendEvent(writer, seq, `text ${seq}`)
            await textSearch.index(writer, entry(seq))
          })
        }
        await database.write(async (writer) => {
          await writer.deleteFrom('session_events').where('seq', '<=', 20).execute()
          for (const seq of numbers(1, 20)) await textSearch.remove(writer, { collection: 'notes', id: `${seq}` })
        })
        const scrubbed = database.scrub()
        const written = numbers(61, 80).map((seq) =>
          database.write(async (writer) => {
            await appendEvent(writer, seq)
            await textSearch.index(writer, entry(seq))
          }),
        )
        await Promise.all([scrubbed, ...written])
        await database.scrub()
        expect(await eventNumbers(database)).toEqual(numbers(21, 80))
        const common = { collection: 'notes', userId: 'user', words: 'common', limit: 100 }
        expect(await textSearch.search(common)).toHaveLength(60)
        expect(await database.checkIntegrity()).toEqual([])
        expect(await eventNumbers(await storage.reopen())).toEqual(numbers(21, 80))
      })

      test('STORE-7 stops on abort', async () => {
        await database.write(async (writer) => {
          await database.textSearch.index(writer, { collection: 'notes', userId: 'user', id: '1', text: 'one' })
          await database.textSearch.remove(writer, { collection: 'notes', id: '1' })
        })
        await expect(database.scrub(AbortSignal.abort())).rejects.toThrow()
        await database.write((writer) => appendEvent(writer, 1))
      })

      test('STORE-7 it waits for a backup, and a close waits for it or refuses it', async () => {
        await database.write((writer) => appendEvent(writer, 1, 'x'.repeat(100_000)))
        const copied = hasBackups ? database.backup(join(storage.directory, 'copy.db')) : undefined
        const scrubbed = database.scrub()
        await Promise.all([copied, scrubbed])
        const last = database.scrub().catch((error: unknown) => error)
        const reopened = await storage.reopen()
        const refused = await last
        if (refused !== undefined) expect(refused).toMatchObject({ code: 'unavailable' })
        expect(await eventNumbers(reopened)).toEqual([1])
        expect(await reopened.checkIntegrity()).toEqual([])
      })
    })

    describe.runIf(hasBackups)('backup', () => {
      test('STORE-4 SEC-20 a backup taken during writes is one consistent state', async () => {
        await database.write(async (writer) => {
          await writer
            .insertInto('cost_totals')
            .values([total('a', 1_000_000), total('b', 0)])
            .execute()
        })
        let writing = true
        const move = async () => {
          for (let seq = 1; writing; seq += 1) {
            await database.write(async (writer) => {
              await appendEvent(writer, seq, 'x'.repeat(2000))
              await writer
                .updateTable('cost_totals')
                .set({ spent_nanousd: 1_000_000 - seq })
                .where('period', '=', 'a')
                .execute()
              await writer.updateTable('cost_totals').set({ spent_nanousd: seq }).where('period', '=', 'b').execute()
            })
          }
        }
        const writer = move()
        await new Promise((resolve) => setTimeout(resolve, 200))
        const before = (await eventNumbers(database)).length
        const path = join(storage.directory, 'copy.db')
        await database.backup(path)
        const after = (await eventNumbers(database)).length
        writing = false
        await writer

        const copy = await storage.openBackup?.(path)
        if (!copy) throw new Error('This engine says that it makes backups.')
        const events = await eventNumbers(copy)
        const totals = await copy.read.selectFrom('cost_totals').select('spent_nanousd').orderBy('period').execute()
        expect(await copy.checkIntegrity()).toEqual([])
        await copy.close()
        expect(totals.map((row) => row.spent_nanousd)).toEqual([1_000_000 - events.length, events.length])
        expect(events).toEqual(numbers(1, events.length))
        expect(events.length).toBeGreaterThanOrEqual(before)
        expect(after).toBeGreaterThan(events.length)
      })

      test('STORE-4 progress ends at the whole', async () => {
        const steps: [number, number][] = []
        await database.backup(join(storage.directory, 'copy.db'), (done, all) => steps.push([done, all]))
        const [done, all] = steps.at(-1) ?? []
        expect(done).toBe(all)
        expect(all).toBeGreaterThan(0)
      })

      test('STORE-4 an existing file is never overwritten', async () => {
        const path = join(storage.directory, 'copy.db')
        await database.backup(path)
        await expect(database.backup(path)).rejects.toMatchObject({ code: 'conflict' })
      })
    })

    test('SEC-20 a sound database has an empty list of problems', async () => {
      await database.write((writer) => appendEvent(writer, 1))
      expect(await database.checkIntegrity()).toEqual([])
    })
  })
}
