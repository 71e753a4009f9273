import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openTestDatabase } from '../../../test/support/open-test-database.ts'
import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { builderChannel } from '../../protocol/messages.ts'
import type { Database } from '../../storage/database.ts'
import { createSessions } from './sessions.ts'

const clock = systemClock()
let directory: string
let database: Database

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'familiar-sessions-'))
  database = await openTestDatabase({ directory: directory, clock })
  const user = { id: 'ada', name: 'Ada', role: 'user', created_at: 0 } as const
  await database.write((writer) => writer.insertInto('users').values(user).execute())
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

it('CLIENT-4 the plan limits the open conversations of a user, background work not counted', async () => {
  let most: number | null = 2
  const sessions = createSessions({ database, clock, ids: createIds(clock), maxSessions: () => most })
  const open = (contact: string, channel = 'http') =>
    database.write((writer) => sessions.ensure(writer, { userId: 'ada', channel, contact }))
  const first = await open('one')
  await open('two')
  await expect(open('three')).rejects.toMatchObject({ code: 'forbidden' })
  await expect(sessions.fork(first, { contact: 'copy', throughSeq: 0 })).rejects.toMatchObject({ code: 'forbidden' })
  expect((await open('one')).id).toBe(first.id)
  await open('build', builderChannel)
  await sessions.archive(first)
  await open('three')
  await expect(open('four')).rejects.toMatchObject({ code: 'forbidden' })
  most = null
  await open('four')
})
