import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { appendEvent, eventNumbers, openIn, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import type { SqliteDatabase } from './open-sqlite.ts'

const word = 'zanzibarquux'

/** The same numbers in every run, each below the given limit. */
function randomNumbers(): (limit: number) => number {
  let state = 1
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

function filesHolding(directory: string, text: string): string[] {
  return ['familiar.db', 'familiar.db-wal'].filter((file) => readFileSync(join(directory, file)).includes(text))
}

/** How many blocks of the full-text index contain the bytes. */
function blocksHolding(directory: string, text: string): number {
  const raw = new DatabaseSync(join(directory, 'familiar.db'), { readOnly: true })
  const blocks = raw.prepare('select block from text_index_data').all()
  raw.close()
  return blocks.filter(({ block }) => Buffer.from(block as Uint8Array).includes(text)).length
}

async function index(database: SqliteDatabase, id: string, text: string): Promise<void> {
  const entry = { collection: 'notes', userId: 'user', id, text }
  await database.write((writer) => database.textSearch.index(writer, entry))
}

async function remove(database: SqliteDatabase, id: string): Promise<void> {
  await database.write((writer) => database.textSearch.remove(writer, { collection: 'notes', id }))
}

test.each([
  ['alone', 0],
  ['among others', 300],
])('STORE-7 the words of a removed text leave the index, %s', async (_what, others) => {
  using directory = temporaryDirectory()
  const database = await openIn(directory.path)
  await seed(database)
  for (let other = 0; other < others; other += 1)
    await index(database, `${other}`, `${'many words '.repeat(20)} ${other}`)
  await index(database, 'secret', `the ${word} of old`)
  await index(database, 'kept', 'quokka')
  await remove(database, 'secret')
  expect(blocksHolding(directory.path, word)).toBeGreaterThan(0)
  await database.textSearch.scrub()
  expect(blocksHolding(directory.path, word)).toBe(0)
  expect(blocksHolding(directory.path, 'quokka')).toBeGreaterThan(0)
  const found = await database.textSearch.search({ collection: 'notes', userId: 'user', words: 'quokka', limit: 5 })
  expect(found.map(({ id }) => id)).toEqual(['kept'])
  await database.close()
})

test('STORE-7 no byte of deleted or overwritten data remains in the file or its log', async () => {
  using directory = temporaryDirectory()
  const database = await openIn(directory.path)
  await seed(database)
  const random = randomNumbers()
  const text = (words: number) => Array.from({ length: words }, () => random(1e9).toString(36)).join(' ')
  const names: string[] = []
  // In random order, with deletions and changes in between, so that rows move: pages that a row left can keep a copy of
  // it.
  for (let seq = 0; seq < 3_000; seq += 1) {
    const secret = random(5) === 0 ? ` ${word} ` : ' '
    const name = `${text(1)}${secret}${text(1 + random(6))}`
    names.push(name)
    await database.write(async (writer) => {
      const alias = { user_id: 'user', alias: '', alias_key: name, entity: `${text(1)}${secret}${text(random(8))}` }
      await writer
        .insertInto('entity_aliases')
        .values({ ...alias, entity_key: alias.entity })
        .execute()
      await appendEvent(writer, seq, `${text(random(60))}${secret}${text(random(300))}`)
      const [goes = '', changes] = [names[random(names.length)], random(seq)]
      if (random(9) === 0) await writer.deleteFrom('entity_aliases').where('alias_key', '=', goes).execute()
      if (random(9) === 0) {
        await writer
          .updateTable('session_events')
          .set({ data: text(99) })
          .where('seq', '=', changes)
          .execute()
      }
    })
  }
  await database.write(async (writer) => {
    await writer.deleteFrom('entity_aliases').where('alias_key', 'like', `%${word}%`).execute()
    await writer.updateTable('session_events').set({ data: '{}' }).where('data', 'like', `%${word}%`).execute()
  })
  expect(filesHolding(directory.path, word)).not.toEqual([])
  await database.scrub()
  expect(filesHolding(directory.path, word)).toEqual([])
  expect(await eventNumbers(database)).toHaveLength(3_000)
  await database.close()
})

test('STORE-7 waits for another reader of the file, then reports it', async () => {
  using directory = temporaryDirectory()
  const database = await openIn(directory.path)
  await seed(database)
  const other = new DatabaseSync(join(directory.path, 'familiar.db'))
  other.exec('begin; select * from users')
  other.prepare('select * from users').all()
  await expect(database.scrub()).rejects.toMatchObject({ code: 'unavailable' })
  other.exec('commit')
  other.close()
  await database.scrub()
  await database.close()
})
