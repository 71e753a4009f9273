import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openTestDatabase } from '../../../test/support/open-test-database.ts'
import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { createWakeups } from '../../base/work.ts'
import type { Database } from '../../storage/database.ts'
import { createSessionViews, type SessionViews } from './open-sessions.ts'
import type { SessionEvent } from './session-event.ts'
import { createSessionLog, type SessionLog } from './session-log.ts'
import { createSessions, type Session } from './sessions.ts'

const clock = systemClock()
let directory: string
let database: Database
let log: SessionLog
let views: SessionViews
let sessionId: string

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'familiar-views-'))
  database = await openTestDatabase({ directory: directory, clock })
  const user = { id: 'ada', name: 'Ada', role: 'user', created_at: 0 } as const
  await database.write((writer) => writer.insertInto('users').values(user).execute())
  log = createSessionLog({ database, clock, wakeups: createWakeups() })
  views = createSessionViews({ database, log })
  const key = { userId: 'ada', channel: 'web', contact: 'one' }
  sessionId = (await database.write((writer) => sessions().ensure(writer, key))).id
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

const sessions = () => createSessions({ database, clock, ids: createIds(clock) })
const current = async () => (await sessions().get('ada', sessionId)) as Session
const shown = async () => (await views.show([await current()]))[0]

function said(text: string): SessionEvent {
  const of = { messageId: text, media: [], sender: 'ada', source: 'web', tier: 'full', metadata: {} }
  return { type: 'message_received', text, ...of }
}
const say = (text: string) => log.record({ sessionId, turnId: null }, [said(text)])

it('PAGE-2 a session is titled by its first message, and shows its newest text', async () => {
  expect(await shown()).toMatchObject({ title: null, preview: '', isUnread: false })
  await say('Where  is\nthe key?')
  await say('And the other one?')
  expect(await shown()).toMatchObject({ title: 'Where is the key?', preview: 'And the other one?', isUnread: true })
})

it('SESS-11 a session shows the newest text of its chosen branch', async () => {
  await say('Red')
  await log.record({ sessionId, turnId: null }, [{ type: 'rewound', toSeq: 0 }])
  await say('Blue')
  expect(await shown()).toMatchObject({ preview: 'Blue' })
  await log.record({ sessionId, turnId: null }, [{ type: 'branch_chosen', toSeq: 1 }])
  expect(await shown()).toMatchObject({ preview: 'Red' })
})

it('PAGE-10 a session is pinned, and no longer', async () => {
  expect(await shown()).toMatchObject({ isPinned: false })
  await views.setPinned(sessionId, true)
  await views.setTitle(sessionId, 'Keys')
  expect(await shown()).toMatchObject({ isPinned: true, title: 'Keys' })
  await views.setPinned(sessionId, false)
  expect(await shown()).toMatchObject({ isPinned: false })
})

it('PAGE-2 the user’s own title stays until it is taken back', async () => {
  await say('Hello')
  await views.setTitle(sessionId, 'Keys')
  expect(await shown()).toMatchObject({ title: 'Keys' })
  await views.setTitle(sessionId, '')
  expect(await shown()).toMatchObject({ title: 'Hello' })
})

it('PAGE-2 read messages stay read, later ones are unread', async () => {
  await say('one')
  await say('two')
  await views.markRead(sessionId, 2)
  await views.markRead(sessionId, 1)
  expect(await shown()).toMatchObject({ isUnread: false })
  await views.setTitle(sessionId, 'Counting')
  expect(await shown()).toMatchObject({ isUnread: false })
  await say('three')
  expect(await shown()).toMatchObject({ isUnread: true, title: 'Counting' })
})

it('PAGE-2 a long beginning is cut on a character', async () => {
  await say(`${'🙂'.repeat(100)}`)
  const view = await shown()
  expect(view?.title?.isWellFormed()).toBe(true)
  expect(view?.title?.length).toBeLessThanOrEqual(81)
})
