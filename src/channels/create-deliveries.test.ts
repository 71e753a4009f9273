import { afterEach, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { openScriptedFamiliar, type ScriptedFamiliar } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../test/support/scripted-model.ts'
import type { SessionLog } from '../agent/sessions/session-log.ts'
import { createIds } from '../base/ids.ts'
import { type Logger, silentLogger } from '../base/logger.ts'
import type { Outbox } from './create-outbox.ts'
import { createOutbox } from './create-outbox.ts'
import { createDeliveries, type Deliveries, type DeliveryChannel } from './deliveries.ts'

const hour = 60 * 60_000
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** The ends of turns, unchanged; no sender is attached. */
const post: DeliveryChannel = {
  channel: 'post',
  wants: ({ channel }) => channel === 'cli',
  toItems: async (session, events) =>
    events.flatMap((event) =>
      event.type === 'turn_ended'
        ? [
            {
              userId: session.userId,
              channel: 'post',
              address: session.contact,
              key: `${session.id}:${event.seq}`,
              payload: event.text,
              sessionId: session.id,
            },
          ]
        : [],
    ),
}

async function openFamiliar(): Promise<{ familiar: ScriptedFamiliar; clock: ManualClock }> {
  const clock = createManualClock()
  let count = 0
  const model = createScriptedModel({ script: () => ({ text: `reply ${++count}` }), clock })
  const familiar = await openScriptedFamiliar({ model, clock })
  closers.push(() => familiar.close())
  return { familiar, clock }
}

async function follow(
  { familiar, clock }: { familiar: ScriptedFamiliar; clock: ManualClock },
  channels: readonly DeliveryChannel[] = [post],
  {
    log = familiar.log,
    logger = silentLogger,
  }: { log?: Pick<SessionLog, 'read' | 'onAnyChange'>; logger?: Logger } = {},
): Promise<{ outbox: Outbox; deliveries: Deliveries; said(): Promise<unknown[]> }> {
  const { database } = familiar
  const outbox = createOutbox({ database, clock, ids: createIds(clock), logger: silentLogger })
  const deliveries = createDeliveries({ database, log, outbox, clock, logger })
  closers.push(deliveries.close)
  await deliveries.start(channels)
  const said = async () => {
    await deliveries.settle()
    const items = await outbox.list(familiar.userId, { limit: 500 })
    return items.toReversed().map(({ payload }) => payload)
  }
  return { outbox, deliveries, said }
}

it('OUT-2 queues messages since its first use, once and in order, across restarts', async () => {
  const opened = await openFamiliar()
  const { familiar, clock } = opened
  await familiar.say('before')
  await clock.advance(1)
  const first = await follow(opened)
  expect(await first.said()).toEqual([])
  await familiar.say('one')
  await familiar.say('two')
  await familiar.say('elsewhere', { channel: 'http' })
  expect(await first.said()).toEqual(['reply 2', 'reply 3'])
  await first.deliveries.close()
  await familiar.say('while nobody followed')
  const second = await follow(opened)
  expect(await second.said()).toEqual(['reply 2', 'reply 3', 'reply 5'])
  await second.deliveries.close()
  // As after a crash that lost the cursor: the same keys are not queued again.
  await familiar.database.write((writer) => writer.deleteFrom('delivery_cursors').execute())
  const third = await follow(opened)
  expect(await third.said()).toEqual(['reply 2', 'reply 3', 'reply 5'])
})

it('OUT-2 writes the items and the cursor in one unit', async () => {
  const opened = await openFamiliar()
  const { familiar, clock } = opened
  const broken: DeliveryChannel = {
    ...post,
    toItems: async (session, events) => {
      const items = await post.toItems(session, events)
      // The unit fails after the cursor was moved, because the user id does not exist.
      return isBroken ? items.map((item) => ({ ...item, userId: 'nobody' })) : items
    },
  }
  let isBroken = true
  const failed = Promise.withResolvers<void>()
  const logger = { ...silentLogger, error: () => failed.resolve() }
  const { deliveries, outbox } = await follow(opened, [broken], { logger })
  await familiar.say('one')
  await failed.promise
  expect(await familiar.database.read.selectFrom('delivery_cursors').selectAll().execute()).toEqual([])
  isBroken = false
  await clock.advance(5_000)
  await deliveries.settle()
  expect((await outbox.list(familiar.userId, { limit: 9 })).map(({ payload }) => payload)).toEqual(['reply 1'])
})

it('OUT-2 delivers the last day of a time when the channel was off, and everything that a stopped daemon missed', async () => {
  const opened = await openFamiliar()
  const { familiar, clock } = opened
  const first = await follow(opened)
  await first.deliveries.close()
  await clock.advance(1)
  await familiar.say('the daemon is down')
  await clock.advance(72 * hour)
  const second = await follow(opened)
  expect(await second.said()).toEqual(['reply 1'])
  await second.deliveries.close()

  const off = await follow(opened, [])
  await familiar.say('it is off')
  await clock.advance(30 * hour)
  await familiar.say('it is still off')
  await off.deliveries.close()
  await clock.advance(hour)
  const third = await follow(opened)
  expect(await third.said()).toEqual(['reply 1', 'reply 3'])
})

it('OUT-2 does not repeat the copied part of a fork, and continues in archived sessions', async () => {
  const opened = await openFamiliar()
  const { familiar } = opened
  const { said } = await follow(opened)
  const { sessionId } = await familiar.say('one')
  await familiar.conversations.fork(familiar.userId, sessionId, 'copy')
  await familiar.say('two', { contact: 'copy' })
  await familiar.conversations.reset(familiar.userId, { sessionId })
  await familiar.say('three')
  expect(await said()).toEqual(['reply 1', 'reply 2', 'reply 3'])
})

it('OUT-2 reads nothing of a session without a channel', async () => {
  const opened = await openFamiliar()
  const { familiar } = opened
  const read: string[] = []
  const log: Pick<SessionLog, 'read' | 'onAnyChange'> = {
    onAnyChange: familiar.log.onAnyChange,
    read(sessionId, range) {
      read.push(sessionId)
      return familiar.log.read(sessionId, range)
    },
  }
  const { said } = await follow(opened, [post], { log })
  await familiar.say('elsewhere', { channel: 'http' })
  expect(await said()).toEqual([])
  expect(read).toEqual([])
})

it('OUT-2 continues after an unreadable row', async () => {
  const opened = await openFamiliar()
  const { familiar, clock } = opened
  const first = await follow(opened)
  await first.deliveries.close()
  await clock.advance(1)
  const { sessionId } = await familiar.say('one')
  await familiar.database.write((writer) =>
    writer.updateTable('session_events').set({ data: '{' }).where('session_id', '=', sessionId).execute(),
  )
  await familiar.say('two')
  const { said } = await follow(opened)
  expect(await said()).toEqual(['reply 2'])
})
