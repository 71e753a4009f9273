import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openTestDatabase } from '../../../test/support/open-test-database.ts'
import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { silentLogger } from '../../base/logger.ts'
import { createWakeups } from '../../base/work.ts'
import type { Database } from '../../storage/database.ts'
import { createFolders, purgeDeleted, restorableDays } from './folders.ts'
import { createMessageIndex, type MessageIndex } from './message-index.ts'
import type { SessionEvent } from './session-event.ts'
import { createSessionLog, type SessionLog } from './session-log.ts'
import { createSessions } from './sessions.ts'

const clock = systemClock()
const dayMs = 24 * 60 * 60_000
let directory: string
let database: Database
let log: SessionLog
let index: MessageIndex

const open = () => createMessageIndex({ database, log, clock, logger: silentLogger, isHere: async () => true })
const sessions = () => createSessions({ database, clock, ids: createIds(clock) })
const folders = () => createFolders({ database, clock, ids: createIds(clock) })

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'familiar-messages-'))
  database = await openTestDatabase({ directory, clock })
  for (const id of ['ada', 'ben']) {
    const user = { id, name: id, role: 'user', created_at: 0 } as const
    await database.write((writer) => writer.insertInto('users').values(user).execute())
  }
  log = createSessionLog({ database, clock, wakeups: createWakeups() })
  index = open()
})
afterEach(async () => {
  await index.close()
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

async function begin(userId: string, contact: string, channel = 'web'): Promise<string> {
  return (await database.write((writer) => sessions().ensure(writer, { userId, channel, contact }))).id
}

function said(text: string): SessionEvent {
  const of = { messageId: `id of ${text}`, media: [], sender: 'ada', source: 'web', tier: 'full', metadata: {} }
  return { type: 'message_received', text, ...of }
}
const replied = (text: string, deliver = true): SessionEvent => {
  return { type: 'turn_ended', outcome: 'completed', text, question: null, toolCalls: [], deliver }
}
const record = (sessionId: string, ...events: SessionEvent[]) => log.record({ sessionId, turnId: 'turn' }, events)

async function find(words: string, userId = 'ada', limit = 10): Promise<string[]> {
  return (await index.search({ userId, words, limit })).map(({ snippet }) => snippet.text).toSorted()
}

it('FIND-1 finds messages and delivered replies of the user, and of no other one', async () => {
  const one = await begin('ada', 'one')
  await record(one, said('The red kayak'), replied('A kayak is a boat'), replied('NO_REPLY kayak', false))
  await record(await begin('ben', 'two'), said('My kayak is secret'))
  await record(await begin('ada', 'work', 'subagent'), said('A kayak in the background'))
  expect(await find('kayak')).toEqual(['A kayak is a boat', 'The red kayak'])
  expect(await find('kayak', 'ben')).toEqual(['My kayak is secret'])
  expect(await index.search({ userId: 'ada', words: 'red kayak', limit: 10 })).toMatchObject([
    { sessionId: one, role: 'user', messageId: 'id of The red kayak', turnId: 'turn', forms: ['red', 'kayak'] },
  ])
})

it('FIND-1 follows the chosen branch', async () => {
  const one = await begin('ada', 'one')
  await record(one, said('Red tulips'))
  await log.record({ sessionId: one, turnId: null }, [{ type: 'rewound', toSeq: 0 }])
  await record(one, said('Blue tulips'))
  expect(await find('tulips')).toEqual(['Blue tulips'])
  await log.record({ sessionId: one, turnId: null }, [{ type: 'branch_chosen', toSeq: 1 }])
  expect(await find('tulips')).toEqual(['Red tulips'])
})

it('FIND-3 each message is indexed once, also when two indexes work at the same time, and after a restart', async () => {
  const one = await begin('ada', 'one')
  const texts = Array.from({ length: 450 }, (_, number) => `Line ${number} about tulips`)
  await index.close()
  for (let at = 0; at < texts.length; at += 50) await record(one, ...texts.slice(at, at + 50).map(said))
  index = open()
  const other = open()
  index.recover()
  other.recover()
  await Promise.all([index.idle(), other.idle()])
  await other.close()
  expect(await find('tulips', 'ada', 500)).toHaveLength(450)
  const { searched_seq: searched } = await database.read
    .selectFrom('sessions')
    .select('searched_seq')
    .executeTakeFirstOrThrow()
  expect(Number(searched)).toBe(450)
})

it('ORG-3 a deleted session is not found, comes back, and is removed for good after its time', async () => {
  const id = await begin('ada', 'one')
  await record(id, said('Red tulips'))
  const session = await sessions().get('ada', id)
  if (!session) throw new Error('It was just made.')
  await sessions().archive(session)
  await sessions().delete(session, 'active')
  expect(await sessions().get('ada', id)).toBeUndefined()
  expect(await sessions().list('ada', { includeArchived: true })).toEqual([])
  expect(await find('tulips')).toEqual([])
  expect(await sessions().restore('ben', id)).toBeUndefined()
  expect(await sessions().restore('ada', id)).toMatchObject({ id, state: 'active' })
  expect(await find('tulips')).toEqual(['Red tulips'])

  await sessions().delete(session, 'active')
  expect(await purgeDeleted(database, clock.now() + (restorableDays - 1) * dayMs)).toBe(0)
  expect(await purgeDeleted(database, clock.now() + (restorableDays + 1) * dayMs)).toBe(1)
  expect(await sessions().deleted('ada')).toEqual([])
  expect(
    await database.textSearch.search({ collection: 'messages', userId: 'ada', words: 'tulips', limit: 9 }),
  ).toEqual([])
})

it('ORG-1 folders belong to their user, and a conversation in one is listed however old it is', async () => {
  const id = await begin('ada', 'one')
  const folder = await folders().add('ada', 'Travel')
  await expect(folders().add('ada', 'Travel')).rejects.toMatchObject({ code: 'conflict' })
  await folders().add('ben', 'Travel')
  await expect(folders().move('ben', [], folder.id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(folders().rename('ben', folder.id, 'Mine')).rejects.toMatchObject({ code: 'not_found' })
  await expect(folders().remove('ben', folder.id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await sessions().kept('ada')).toEqual([])
  await folders().move('ada', [id], folder.id)
  expect(await sessions().kept('ada')).toMatchObject([{ id }])
  await folders().rename('ada', folder.id, 'Trips')
  expect(await folders().list('ada')).toEqual([{ id: folder.id, name: 'Trips' }])
  await folders().remove('ada', folder.id)
  expect(await sessions().kept('ada')).toEqual([])
})
