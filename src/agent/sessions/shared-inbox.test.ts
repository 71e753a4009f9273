import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seed } from '../../../test/contract/storage-support.ts'
import { createPostgresDatabase, type PostgresTestDatabase } from '../../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { openPostgres, type PostgresDatabase } from '../../storage/postgres/open-postgres.ts'
import { createInbox, type InboundPayload } from './inbox.ts'
import { createSessions } from './sessions.ts'

const missing = whyNoPostgres()
const key = { userId: 'user', channel: 'http', contact: 'main' }
const payload: InboundPayload = {
  text: 'Hi',
  media: [],
  sender: 'user',
  source: 'http',
  tier: 'full',
  immediate: false,
  metadata: {},
}

describe.skipIf(missing)(missing ?? 'messages that several daemons take in', () => {
  let made: PostgresTestDatabase
  let databases: PostgresDatabase[]

  beforeEach(async () => {
    made = await createPostgresDatabase({ migrated: true })
    const open = () => openPostgres({ url: made.url, clock: systemClock(), poolSize: 8 })
    databases = await Promise.all([open(), open()])
    await seed(databases[0] as PostgresDatabase)
  })
  afterEach(async () => {
    await Promise.all(databases.map((database) => database.close()))
    await made.drop()
  })

  function daemon(index: number) {
    const database = databases[index % databases.length] as PostgresDatabase
    const clock = systemClock()
    const ids = createIds(clock)
    const sessions = createSessions({ database, clock, ids })
    return {
      sessions,
      inbox: createInbox({
        database,
        sessions,
        clock,
        ids,
        refuseOverload: () => {},
        coordination: { stateIn: 'tables', onAdmitted: async () => {} },
      }),
    }
  }
  const both = () => [daemon(0), daemon(1)] as const
  const admit = (at: ReturnType<typeof daemon>, messageKey: string | null = null) =>
    at.inbox.admit(key, { ...payload, key: messageKey })

  async function openMessages() {
    const [database] = databases as [PostgresDatabase]
    return database.read
      .selectFrom('inbox')
      .innerJoin('sessions', 'sessions.id', 'inbox.session_id')
      .select(['inbox.id', 'received_at', 'sessions.state', 'inbox.session_id'])
      .orderBy('received_at')
      .execute()
  }

  it('SCALE-4 each comes after those before it in its session, and the same key is taken once', async () => {
    const daemons = both()
    await admit(daemons[0])
    const many = Array.from({ length: 40 }, (_, index) => daemons[index % 2] as ReturnType<typeof daemon>)
    await Promise.all(many.map((at, index) => admit(at, `key ${index % 20}`)))
    const messages = await openMessages()
    expect(messages).toHaveLength(21)
    expect(new Set(messages.map(({ received_at }) => received_at)).size).toBe(21)
    expect(new Set(messages.map(({ session_id }) => session_id)).size).toBe(1)
  })

  it('SCALE-4 none is left in a session that was closed while it came in', async () => {
    const daemons = both()
    for (let round = 0; round < 25; round += 1) {
      await admit(daemons[0])
      const session = await daemons[0].sessions.find(key)
      if (!session) throw new Error('There is no session')
      await Promise.all([daemons[1].sessions.archive(session), admit(daemons[0]), admit(daemons[1])])
    }
    const messages = await openMessages()
    expect(messages).toHaveLength(75)
    expect(messages.filter(({ state }) => state !== 'active')).toEqual([])
  })

  it('SESS-8 SCALE-4 a session whose waiting messages cannot be asked for elsewhere is not closed', async () => {
    const [here] = both()
    await admit(here)
    const session = await here.sessions.find(key)
    if (!session) throw new Error('There is no session')
    const noJob = async () => {
      throw new Error('no job')
    }
    await expect(here.sessions.archive(session, noJob)).rejects.toThrow('no job')
    expect(await here.sessions.find(key)).toMatchObject({ id: session.id })
    const asked: string[] = []
    const next = await here.sessions.archive(session, async (_writer, { id }) => void asked.push(id))
    expect(new Set(asked)).toEqual(new Set([next?.id]))
    expect(await openMessages()).toMatchObject([{ session_id: next?.id }])
  })
})
