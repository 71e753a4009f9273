import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../base/clock.ts'
import { createIds } from '../base/ids.ts'
import type { Database } from '../storage/database.ts'
import { openSqlite } from '../storage/sqlite/open-sqlite.ts'
import { createNotes, type Notes } from './notes.ts'

let folder: string
let database: Database
let notes: Notes
let time: number
const clock: Clock = { now: () => time, after: () => () => {} }
const source = 'user'

beforeEach(async () => {
  time = Date.UTC(2026, 10, 15)
  folder = await mkdtemp(join(tmpdir(), 'familiar-notes-'))
  await open()
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: time }))
    await writer.insertInto('users').values(users).execute()
  })
})

afterEach(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

async function open() {
  database = await openSqlite({ path: join(folder, 'familiar.db'), clock, snapshotDirectory: folder })
  notes = createNotes({ database, clock, ids: createIds(clock) })
}

async function recalled(userId: string, query: string, limit = 5): Promise<string[]> {
  return (await notes.recall({ userId, query, limit })).map(({ note }) => note.content)
}

describe('notes', () => {
  it('NOTE-1 finds what was told after a restart, with what a citation needs', async () => {
    const { note, isNew } = await notes.add({
      userId: 'max',
      content: 'I am allergic to shellfish',
      tags: ['health'],
      source,
      sessionId: 'session',
      turnId: 'turn',
    })
    expect(isNew).toBe(true)
    await database.close()
    await open()
    const [found, ...others] = await notes.recall({ userId: 'max', query: 'What am I allergic to?', limit: 5 })
    expect(others).toEqual([])
    expect(found?.note).toEqual(note)
    expect(note).toMatchObject({ createdAt: time, tags: ['health'], source, sessionId: 'session', turnId: 'turn' })
    expect(await notes.get('max', note.id)).toEqual(note)
  })

  it('NOTE-1 keeps the same content once, and the same cause once', async () => {
    const first = await notes.add({ userId: 'max', content: 'I like tea', source, id: 'call-1' })
    const again = await notes.add({ userId: 'max', content: ' I like tea\n', tags: ['drink'], source, id: 'call-1' })
    const later = await notes.add({ userId: 'max', content: 'I like tea', source, id: 'call-2' })
    expect(first.note.id).toBe('call-1')
    expect(again).toEqual({ note: first.note, isNew: false })
    expect(later).toEqual({ note: first.note, isNew: false })
    expect(await notes.list('max', { limit: 10 })).toEqual([first.note])
  })

  it('NOTE-1 loses no note to an id that is taken', async () => {
    await notes.add({ userId: 'max', content: 'I like tea', source, id: 'same' })
    const { note, isNew } = await notes.add({ userId: 'eve', content: 'I like milk', source, id: 'same' })
    expect(isNew).toBe(true)
    expect(note.id).not.toBe('same')
    expect(await recalled('eve', 'milk')).toEqual(['I like milk'])
  })

  it('NOTE-1 ranks by words, and of equals the newer first', async () => {
    for (const content of [
      'My favourite colour is blue',
      'My favourite food is rice',
      'My favourite colour is green',
    ]) {
      await notes.add({ userId: 'max', content, source })
      time += 86_400_000
    }
    expect(await recalled('max', 'What is my favourite colour?')).toEqual([
      'My favourite colour is green',
      'My favourite colour is blue',
      'My favourite food is rice',
    ])
    expect(await recalled('max', 'What is my favourite colour?', 1)).toEqual(['My favourite colour is green'])
  })

  it('NOTE-1 finds by tag, by stem, and nothing for words that mean nothing', async () => {
    await notes.add({ userId: 'max', content: 'call mum', tags: ['reminder'], source })
    await notes.add({ userId: 'max', content: 'I am allergic to two things', source })
    expect(await recalled('max', 'reminders')).toEqual(['call mum'])
    for (const query of ['allergy', 'Have I any allergies?', 'ALLERGIC']) {
      expect(await recalled('max', query)).toEqual(['I am allergic to two things'])
    }
    expect(await recalled('max', 'What do you know about me?')).toEqual([])
  })

  it('NOTE-1 lists newest first, page after page, and removes for good', async () => {
    for (let index = 0; index < 7; index += 1) {
      await notes.add({ userId: 'max', content: `note ${index}`, source })
      if (index % 2 === 0) time += 1
    }
    const first = await notes.list('max', { limit: 3 })
    const last = first.at(-1)
    if (!last) throw new Error('an empty page')
    const second = await notes.list('max', { limit: 10, before: last })
    expect([...first, ...second].map((note) => note.content)).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `note ${n}`))
    expect(await notes.remove('max', last.id)).toBe(true)
    expect(await notes.remove('max', last.id)).toBe(false)
    expect(await notes.get('max', last.id)).toBeUndefined()
    expect(await recalled('max', 'note', 10)).toHaveLength(6)
    // What was removed can be told again.
    expect((await notes.add({ userId: 'max', content: last.content, source })).isNew).toBe(true)
  })

  it('NOTE-2 shows and changes no one else’s notes', async () => {
    const { note } = await notes.add({ userId: 'eve', content: 'My secret is shellfish', source })
    expect(await recalled('max', 'secret shellfish')).toEqual([])
    expect(await notes.get('max', note.id)).toBeUndefined()
    expect(await notes.list('max', { limit: 10 })).toEqual([])
    expect(await notes.remove('max', note.id)).toBe(false)
    expect((await notes.add({ userId: 'max', content: 'My secret is shellfish', source })).isNew).toBe(true)
    expect(await recalled('eve', 'secret')).toHaveLength(1)
  })

  it('NOTE-3 refuses an empty note in words', async () => {
    for (const content of ['', ' \n\t', '\u0000']) {
      await expect(notes.add({ userId: 'max', content, source })).rejects.toMatchObject({
        code: 'bad_request',
        message: 'A note needs some text',
      })
    }
  })

  it('NOTE-3 takes 100 kB, emoji, every script and search syntax as they are', async () => {
    const long = `zebra ${'x y '.repeat(25_000)}`.trim()
    const texts = [long, '👩‍👩‍👧 likes 🍣', '我对虾过敏', '"a" AND (b:c* NEAR/2 -d) ^e', "'; drop table notes; --"]
    for (const content of texts) {
      const { note } = await notes.add({ userId: 'max', content, source })
      expect((await notes.get('max', note.id))?.content).toBe(content)
    }
    expect(await recalled('max', 'zebra')).toEqual([long])
    expect(await recalled('max', '我对虾过敏')).toEqual(['我对虾过敏'])
    expect(await recalled('max', 'drop table notes')).toEqual(["'; drop table notes; --"])
  })

  it('NOTE-3 neither any note nor any question breaks it', async () => {
    const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (text, query) => {
        const { note } = await notes.add({ userId: 'max', content: `note ${text}`, tags: [text], source })
        expect(note.content.isWellFormed()).toBe(true)
        expect(await notes.get('max', note.id)).toEqual(note)
        await notes.recall({ userId: 'max', query, limit: 5 })
      }),
      { numRuns: 60 },
    )
  })
})
