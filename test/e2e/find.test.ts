import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FoundReply } from '../../src/protocol/search.ts'
import { fakeProvider } from '../page/support/page-daemon.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { familiar as run } from './cli-process.ts'

const toml = '[routes]\nprimary = "fake/main"\n[memory]\nconversations = true\nextraction = false\n'

let fake: FakeModel
let familiar: RunningFamiliar

async function start(home?: string): Promise<RunningFamiliar> {
  const providers = { fake: fakeProvider(fake.url) }
  return startFamiliar({ toml, providers, ...(home !== undefined && { home }) })
}

beforeEach(async () => {
  fake = await startFakeModel({})
  fake.respondWith(() => ({ text: 'I see.' }))
  familiar = await start()
})
afterEach(async () => {
  await familiar.close()
  await fake.close()
})

async function call<T>(method: string, path: string, body?: unknown, status = 200): Promise<T> {
  const response = await familiar.request(method, `/api/v1${path}`, body)
  const text = await response.text()
  expect({ path, status: response.status, text }).toMatchObject({ path, status })
  return JSON.parse(text) as T
}

async function find(words: string, more = ''): Promise<FoundReply[]> {
  return (await call<{ found: FoundReply[] }>('GET', `/search?q=${encodeURIComponent(words)}${more}`)).found
}

const marked = ({ snippet: { text, marks } }: FoundReply) => marks.map(([start, end]) => text.slice(start, end))

async function listed(): Promise<{ id: string; title: string; state: string; folder: string | null }[]> {
  return (await call<{ sessions: never[] }>('GET', '/page/sessions')).sessions
}

describe('search', () => {
  it('FIND-1 finds messages, replies, memories, notes, files, tools, schedules and settings', async () => {
    fake.respondWith(() => ({ text: 'Violins need dry air.' }))
    const { session_id: id, turn_id } = await familiar.chat('My sister repairs violins in Porto', { session: 'one' })
    await call('POST', '/memories', { content: 'The violin case is blue' }, 201)
    await call('PUT', '/blocks/music%2Fviolin.md', { content: 'Strings for it: Dominant' })
    await call('POST', '/schedules', { cron: '0 9 * * *', message: 'Practice the violin', session: 'one' }, 201)
    const workspace = join(familiar.home, 'workspace')
    mkdirSync(join(workspace, 'music'), { recursive: true })
    writeFileSync(join(workspace, 'music', 'violin.txt'), 'A name')
    writeFileSync(join(workspace, 'music', 'shop.txt'), 'The violin shop closes at six')

    const found = await find('violin')
    const kinds = Map.groupBy(found, ({ kind }) => kind)
    expect([...kinds.keys()].toSorted()).toEqual(['file', 'memory', 'message', 'note', 'schedule'])
    expect(
      kinds
        .get('message')
        ?.map(({ id: of, message, ...one }) => [of, message?.role, marked({ id: of, message, ...one })]),
    ).toEqual([
      [id, 'assistant', ['Violins']],
      [id, 'user', ['violins']],
    ])
    expect(kinds.get('message')?.[0]?.message).toMatchObject({ turn: turn_id })
    expect(kinds.get('message')?.[0]).toMatchObject({ title: 'My sister repairs violins in Porto', words: ['violins'] })
    expect(
      kinds
        .get('file')
        ?.map(({ title }) => title)
        .toSorted(),
    ).toEqual(['music/shop.txt', 'music/violin.txt'])
    const shop = kinds.get('file')?.find(({ title }) => title.endsWith('shop.txt'))
    expect(shop && marked(shop)).toEqual(['violin'])
    expect(await call('GET', `/search/files/${shop?.id}`)).toMatchObject({ text: 'The violin shop closes at six' })
    await call('GET', '/search/files/unknown', undefined, 404)
    expect((await find('memory search', '&kinds=tool')).length).toBeGreaterThan(0)
    expect(await find('agent name', '&kinds=setting')).toMatchObject([{ kind: 'setting', id: 'agent.name' }])
  })

  it('FIND-1 all words must match, and the last one may be unfinished while typing', async () => {
    await familiar.chat('The passport expires in March', { session: 'one' })
    await familiar.chat('我的護照三月到期', { session: 'two' })
    const messages = async (words: string, more = '') =>
      (await find(words, `&kinds=message${more}`)).map(({ snippet }) => snippet.text)
    expect(await messages('passport april')).toEqual([])
    expect(await messages('march passp')).toEqual([])
    expect(await messages('march passp', '&typing=true')).toEqual(['The passport expires in March'])
    expect(await messages('護照')).toEqual(['我的護照三月到期'])
    await call('GET', '/search?q=', undefined, 400)
    await call('GET', '/search?q=x&kinds=secret', undefined, 400)
  })

  it('FIND-1 finds only what the open conversation can show', async () => {
    const { session_id: id } = await familiar.chat('About tangerines', { session: 'one' })
    await call('POST', '/sessions/one/rewind', { turns: 1 })
    await familiar.chat('About lemons', { session: 'one' })
    expect(await find('tangerines', '&kinds=message')).toEqual([])
    expect(await find('lemons', '&kinds=message')).toMatchObject([{ id }])
  })

  it('FIND-1 a private conversation is found by its user, and nothing of it becomes memory', async () => {
    await call('POST', '/messages', { message: 'The surprise is a canoe', session: 'secret', private: true }, 202)
    await expect.poll(async () => (await find('canoe')).map(({ kind }) => kind)).toEqual(['message'])
    await expect.poll(async () => (await listed()).length).toBe(1)
    expect(await find('canoe', '&kinds=memory')).toEqual([])
  })

  it('MEM-14 FIND-1 forgotten text is no longer found', async () => {
    await familiar.chat('My neighbor Zebulon plays chess', { session: 'one' })
    expect(await find('zebulon')).not.toEqual([])
    expect(await run(['forget', '--everything', 'Zebulon', '--yes'], { home: familiar.home })).toMatchObject({
      code: 0,
    })
    expect(await find('zebulon')).toEqual([])
    expect(await find('chess', '&kinds=message')).toEqual([])
    const { rows } = await sql<{ id: string }>`select id from text_entries where collection = 'messages'`.execute(
      familiar.daemon.database.read,
    )
    expect(rows.length).toBeGreaterThan(0)
  })

  it('FIND-3 messages from before the index are indexed at the next start', async () => {
    await familiar.chat('The kayak is in the cellar', { session: 'one' })
    expect(await find('kayak')).not.toEqual([])
    // As after a move to another engine, or in a home of an earlier version: the index has no messages.
    await familiar.daemon.database.write(async (writer) => {
      await sql`delete from text_index where rowid in (select number from text_entries where collection = 'messages')`.execute(
        writer,
      )
      await sql`delete from text_entries where collection = 'messages'`.execute(writer)
    })
    const { home } = familiar
    await familiar.close({ keep: true })
    familiar = await start(home)
    await expect.poll(async () => (await find('kayak', '&kinds=message')).length).toBe(1)
  })

  it('FIND-1 familiar search prints the results by kind, and as JSON', async () => {
    await familiar.chat('The spare key is under the pot', { session: 'one' })
    const { stdout } = await run(['search', 'spare', 'key', '--kind', 'message'], { home: familiar.home })
    expect(stdout).toContain('Messages')
    expect(stdout).toContain('The spare key is under the pot')
    const json = await run(['search', 'spare', 'key', '--json'], { home: familiar.home })
    expect(JSON.parse(json.stdout)).toMatchObject({ found: [{ kind: 'message' }] })
    expect(await run(['search', 'qwertzuiop'], { home: familiar.home })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing was found.'),
    })
  })
})

describe('organizing conversations', () => {
  it('ORG-1 folders are created, renamed and removed, and hold conversations', async () => {
    const { session_id: id } = await familiar.chat('Trains to Rome', { session: 'one' })
    const folder = await call<{ id: string }>('POST', '/folders', { name: ' Travel ' }, 201)
    await call('POST', '/folders', { name: 'Travel' }, 409)
    await call('POST', '/folders', { name: '' }, 400)
    await call('PUT', '/sessions/folder', { sessions: [id], folder: folder.id })
    expect(await listed()).toMatchObject([{ id, folder: folder.id }])
    await call('PUT', '/sessions/folder', { sessions: [id], folder: 'unknown' }, 404)
    await call('PUT', '/sessions/folder', { sessions: [id, 'unknown'], folder: null }, 404)
    expect(await call('PUT', `/folders/${folder.id}`, { name: 'Trips' })).toMatchObject({ name: 'Trips' })
    expect(await call('GET', '/folders')).toEqual({ folders: [{ id: folder.id, name: 'Trips' }] })
    await call('DELETE', `/folders/${folder.id}`)
    expect(await listed()).toMatchObject([{ id, folder: null }])
    await call('DELETE', `/folders/${folder.id}`, undefined, 404)
  })

  it('ORG-2 a conversation is archived and continued', async () => {
    const { session_id: id } = await familiar.chat('One', { session: 'one' })
    await call('POST', '/sessions/archive', { sessions: [id] })
    expect(await listed()).toMatchObject([{ id, state: 'archived' }])
    await call('POST', '/sessions/unarchive', { sessions: [id] })
    expect(await familiar.chat('Two', { session: 'one' })).toMatchObject({ session_id: id })
    await call('POST', '/sessions/archive', { sessions: ['one'] })
    await familiar.chat('Another', { session: 'one' })
    await call('POST', '/sessions/unarchive', { sessions: [id] }, 409)
  })

  it('ORG-3 a deleted conversation is gone from lists, search and memory until it is restored', async () => {
    const { session_id: id } = await familiar.chat('My locker has the number 4711, by the door', { session: 'one' })
    const passages = async () => (await call<{ memories: unknown[] }>('GET', '/memories?kind=chunk')).memories.length
    await expect.poll(passages).toBeGreaterThan(0)
    await call('POST', '/sessions/delete', { sessions: ['one'] })
    expect(await listed()).toEqual([])
    expect(await find('locker')).toEqual([])
    await expect.poll(passages).toBe(0)
    await call('GET', `/sessions/${id}/history`, undefined, 404)
    await call('GET', `/sessions/export?sessions=${id}`, undefined, 404)
    expect(await call('GET', '/sessions/deleted')).toMatchObject({ sessions: [{ id, contact: 'one' }] })
    await call('POST', '/sessions/restore', { sessions: [id] })
    expect(await listed()).toMatchObject([{ id, state: 'active' }])
    expect(await find('locker', '&kinds=message')).toMatchObject([{ id }])
    await expect.poll(passages).toBeGreaterThan(0)
    expect(await familiar.chat('Again', { session: 'one' })).toMatchObject({ session_id: id })
    await call('POST', '/sessions/restore', { sessions: [id] }, 404)
  })

  it('ORG-3 a restored conversation stays archived where its contact has a new one', async () => {
    const { session_id: id } = await familiar.chat('One', { session: 'one' })
    await call('POST', '/sessions/delete', { sessions: [id] })
    const { session_id: next } = await familiar.chat('Two', { session: 'one' })
    await call('POST', '/sessions/restore', { sessions: [id] })
    expect((await listed()).map((session) => [session.id, session.state])).toEqual(
      expect.arrayContaining([
        [id, 'archived'],
        [next, 'active'],
      ]),
    )
  })

  it('ORG-3 after 30 days a deleted conversation is removed for good at the next start', async () => {
    const { session_id: id } = await familiar.chat('The old plan', { session: 'one' })
    const { session_id: kept } = await familiar.chat('The new plan', { session: 'two' })
    await call('POST', '/sessions/delete', { sessions: [id, kept] })
    const longAgo = Date.now() - 31 * 24 * 60 * 60_000
    await familiar.daemon.database.write((writer) =>
      writer.updateTable('sessions').set({ deleted_at: longAgo }).where('id', '=', id).execute(),
    )
    const { home } = familiar
    await familiar.close({ keep: true })
    familiar = await start(home)
    const ids = async () => {
      const rows = await familiar.daemon.database.read.selectFrom('sessions').select('id').execute()
      return rows.map((row) => row.id)
    }
    await expect.poll(ids).toEqual([kept])
    const events = await familiar.daemon.database.read
      .selectFrom('session_events')
      .select('session_id')
      .distinct()
      .execute()
    expect(events).toEqual([{ session_id: kept }])
  })

  it('ORG-4 sessions are exported as one file, in three formats', async () => {
    fake.respondWith(() => ({ text: 'Use **butter** & <b>flour</b>.' }))
    const { session_id: id } = await familiar.chat('How is a cake made? <script>alert(1)</script>', { session: 'one' })
    await familiar.chat('Another', { session: 'two' })
    const file = async (query: string) => {
      const response = await familiar.request('GET', `/api/v1/sessions/export?${query}`)
      expect(response.headers.get('content-disposition')).toMatch(/^attachment; /)
      return response.text()
    }
    expect(await file(`sessions=${id}`)).toMatch(
      /^# How is a cake made\?.*\n\n## You\n\nHow is.*\n\n## Familiar\n\nUse \*\*butter/,
    )
    expect(JSON.parse(await file(`sessions=${id}&format=json`))).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant', text: 'Use **butter** & <b>flour</b>.' }],
    })
    expect(JSON.parse(await file('sessions=one,two&format=json')).conversations).toHaveLength(2)
    const html = await file(`sessions=${id}&format=html`)
    expect(html).toContain("default-src 'none'")
    expect(html).not.toMatch(/<script|<b>/)
    expect(html).toContain('<strong>butter</strong>')
  })

  it('ORG-1 ORG-2 the command line sorts and archives', async () => {
    const { session_id: id } = await familiar.chat('Trains to Rome', { session: 'one' })
    const { home } = familiar
    const done = async (...args: string[]) => {
      const ended = await run(args, { home })
      expect({ args, ...ended }).toMatchObject({ args, code: 0 })
      return ended.stdout
    }
    await done('folders', 'add', 'Travel')
    expect(await done('sessions', 'move', 'one', '--to', 'Travel')).toContain('Moved 1 session to Travel.')
    expect((await listed())[0]?.folder).not.toBeNull()
    await done('folders', 'rename', 'Travel', 'Trips')
    expect(await done('folders')).toContain('Trips')
    await done('sessions', 'move', 'one')
    await done('folders', 'remove', 'Trips')
    await done('sessions', 'archive', 'one', '--yes')
    await done('sessions', 'unarchive', id)
  })

  it('ORG-3 ORG-4 the command line exports, deletes and restores', async () => {
    const { session_id: id } = await familiar.chat('Trains to Rome', { session: 'one' })
    const { home } = familiar
    const done = async (...args: string[]) => {
      const ended = await run(args, { home })
      expect({ args, ...ended }).toMatchObject({ args, code: 0 })
      return ended.stdout
    }
    expect(await done('sessions', 'export', 'one', '--html')).toContain('<!doctype html>')
    const out = join(home, 'one.html')
    expect(await done('sessions', 'export', 'one', '--html', '--out', out)).toContain('small pictures')
    expect(await done('sessions', 'delete', 'one')).toContain(`sessions restore ${id}`)
    expect(await done('sessions', 'deleted')).toContain('Trains to Rome')
    await done('sessions', 'restore', id.slice(0, 18))
    expect(await run(['sessions', 'restore', 'nothing'], { home })).toMatchObject({ code: 1 })
    expect(await run(['sessions', 'move', 'one', '--to', 'Nowhere'], { home })).toMatchObject({ code: 1 })
  })
})
