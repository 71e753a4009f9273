import { afterEach, beforeEach, expect, it } from 'vitest'
import { openMemoryStore } from '../../../test/support/memory-store.ts'
import { createSoleDaemon } from '../coordination.ts'
import { createSharedDepth } from '../fleet-coordination.ts'
import { createInbox, createRefuseOverload, type InboundPayload } from './inbox.ts'
import { createSessions } from './sessions.ts'

let store: Awaited<ReturnType<typeof openMemoryStore>>
beforeEach(async () => {
  store = await openMemoryStore()
})
afterEach(() => store.close())

/** One of several daemons that fill the same queue: it knows nothing of the others but what the tables say. */
function openDaemon(limits: { maxQueuedPerSession: number; maxQueued: number }) {
  const { database, clock, ids } = store
  const sessions = createSessions({ database, clock, ids, maxSessions: () => null })
  const depth = createSharedDepth({ database, clock, most: () => limits.maxQueued })
  const refuseOverload = createRefuseOverload({ limits: () => limits, depth })
  const inbox = createInbox({ database, sessions, clock, ids, refuseOverload, coordination: createSoleDaemon() })
  return {
    inbox,
    admit: (contact: string, key: string | null = null) =>
      inbox.admit({ userId: 'max', channel: 'http', contact }, { ...payload, key }),
    /** A second later, after the next count. */
    async later() {
      depth.inAll()
      await clock.advance(1_000)
      depth.inAll()
      await expect.poll(depth.inAll).toBe(Math.min(limits.maxQueued, (await inbox.queued()).length))
    },
  }
}

/** As a turn does that takes the message up. */
async function begin(id: string): Promise<void> {
  await store.database.write(async (writer) => {
    await writer.updateTable('inbox').set({ state: 'running', turn_id: 'turn' }).where('id', '=', id).execute()
  })
}

const payload: InboundPayload = {
  text: 'Hi',
  media: [],
  sender: 'max',
  source: 'http',
  tier: 'full',
  immediate: false,
  metadata: {},
}

it('SCALE-6 messages admitted by one daemon count for the others, one by one in a session', async () => {
  const limits = { maxQueuedPerSession: 2, maxQueued: 100 }
  const [one, two] = [openDaemon(limits), openDaemon(limits)]
  await one.admit('main', 'first')
  const { message } = await two.admit('main')
  for (const daemon of [one, two]) {
    await expect(daemon.admit('main')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 5 })
  }
  expect(await two.admit('main', 'first')).toMatchObject({ admitted: false })
  await one.admit('side')
  // A turn that has started no longer waits.
  await begin(message.id)
  await two.admit('main')
  expect(await one.inbox.queued()).toHaveLength(3)
})

it('SCALE-6 the total queue is limited, to within the messages of one second', async () => {
  const limits = { maxQueuedPerSession: 100, maxQueued: 3 }
  const [one, two] = [openDaemon(limits), openDaemon(limits)]
  for (const contact of ['a', 'b', 'c']) await one.admit(contact)
  await two.later()
  await expect(two.admit('d')).rejects.toMatchObject({ code: 'rate_limited', message: /in all/ })
  const { id = '' } = (await one.inbox.queued())[0] ?? {}
  await begin(id)
  await two.later()
  await two.admit('d')
})
