import { type Clock, sleep } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import type { Logger } from '../../base/logger.ts'
import { createTurnstile, type Turnstile } from '../../base/turnstile.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { OutboxRow } from '../../storage/channel-tables.ts'
import type { Database } from '../../storage/database.ts'
import { clearOldItems } from './clear-old-items.ts'
import { createLanes, type LaneState } from './lanes.ts'
import type { Outbox, OutboxItem, OutboxState, Sender, SendOutcome } from './outbox.ts'
import { type Address, claimItem, insertItems, selectHead, toItem } from './outbox-items.ts'
import type { OnOutboxStep } from './outbox-step.ts'
import { pauseAfter } from './pause-after.ts'
import { pausedUntil, writeOutcome } from './write-outcome.ts'

const mostAtOnce = 8
const clearEveryMs = 24 * 60 * 60_000
const graceMs = 3_000

interface Channel {
  sender: Sender
  turnstile: Turnstile
  /** Until then nothing goes over it. */
  pausedUntil: number
}

/** The outbox over its table. */
export function createOutbox(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  logger: Logger
  random?: () => number
  onStep?: OnOutboxStep
}): Outbox {
  const { database, clock, ids, logger, random = Math.random, onStep = () => {} } = dependencies
  const channels = new Map<string, Channel>()
  const lanes = createLanes({ clock, logger, advance })
  const stop = new AbortController()
  let stopClearing = () => {}

  async function advance(address: Address): Promise<LaneState> {
    const channel = channels.get(address.channel)
    if (!channel) return 'empty'
    return channel.turnstile(async () => {
      const head = await selectHead(database.read, address)
      if (!head) return 'empty'
      const notBefore = Math.max(Number(head.next_at), channel.pausedUntil)
      if (notBefore > clock.now()) return { notBefore }
      if (stop.signal.aborted) return 'empty'
      const item = await database.write((writer) => claimItem(writer, head.id, clock.now()))
      if (!item) return 'more'
      onStep('item_claimed')
      const outcome = await attempt(channel.sender, item)
      onStep('item_sent')
      await settle(item, outcome)
      onStep('outcome_written')
      return 'more'
    })
  }

  async function attempt(sender: Sender, item: OutboxItem): Promise<SendOutcome> {
    try {
      return await sender.send(item, stop.signal)
    } catch (cause) {
      if (stop.signal.aborted) return { kind: 'unknown', reason: 'Familiar was stopped while it was being sent' }
      logger.error('a sender failed', { channel: item.channel, item: item.id, error: cause })
      return { kind: 'unknown', reason: cause instanceof Error ? cause.message : String(cause) }
    }
  }

  /** What is known must not get lost on a full disk: it is written as soon as that is possible. */
  async function settle(item: OutboxItem, outcome: SendOutcome): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await settleOnce(item, outcome)
      } catch (error) {
        logger.error('the outcome of a delivery could not be written', { item: item.id, outcome: outcome.kind, error })
        // Written nowhere, it is of unknown outcome at the next start.
        if (stop.signal.aborted) return
        await sleep(clock, pauseAfter(failures, random), stop.signal).catch(() => undefined)
      }
    }
  }

  async function settleOnce(item: OutboxItem, outcome: SendOutcome): Promise<void> {
    const channel = channels.get(item.channel)
    const now = clock.now()
    // Not only once it is written: until then others would go on.
    if (channel && outcome.kind === 'retry' && outcome.isForAll) pause(channel, now + (outcome.afterMs ?? 0))
    const settled = await database.write((writer) =>
      writeOutcome(writer, item, { outcome, sender: channel?.sender, now, random }),
    )
    if (channel && settled.pausedUntil !== null) pause(channel, settled.pausedUntil)
    if (settled.movedTo !== null) lanes.wake({ channel: item.channel, address: settled.movedTo })
    if (settled.state === 'failed' || settled.state === 'unknown') {
      const { id, attempts } = item
      const isFailed = settled.state === 'failed'
      const message = isFailed ? 'something was not delivered' : 'it is not known whether something was delivered'
      logger.warn(message, { channel: item.channel, item: id, attempts, reason: settled.reason })
    }
  }

  function pause(channel: Channel, until: number): void {
    channel.pausedUntil = Math.max(channel.pausedUntil, until)
  }

  async function takeUp(): Promise<void> {
    const paused = await database.read.selectFrom('channel_marks').selectAll().where('name', '=', pausedUntil).execute()
    for (const { channel, value } of paused) {
      const known = channels.get(channel)
      if (known) known.pausedUntil = Number(value) || 0
    }
    const sending = await database.read
      .selectFrom('outbox')
      .selectAll()
      .where('next_at', 'is not', null)
      .where('state', '=', 'sending')
      .execute()
    const reason = 'Familiar was cut off while it was being sent'
    for (const row of sending) await settleOnce(toItem(row), { kind: 'unknown', reason })
    const open = await database.read
      .selectFrom('outbox')
      .select(['channel', 'address'])
      .distinct()
      .where('next_at', 'is not', null)
      .execute()
    for (const address of open) lanes.add(address)
  }

  async function clear(): Promise<void> {
    try {
      await clearOldItems(database, clock.now(), stop.signal)
    } catch (error) {
      logger.warn('old items of the outbox could not be cleared', { error })
    }
    if (!stop.signal.aborted) stopClearing = clock.after(clearEveryMs, () => void clear())
  }

  async function find(userId: string, id: string): Promise<OutboxItem> {
    const row = await database.read
      .selectFrom('outbox')
      .selectAll()
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    if (!row) throw new FamiliarError('not_found', `There is nothing in the outbox under ${id.slice(0, 120)}`)
    return toItem(row)
  }

  /** `conflict` where it is in none of the states. */
  async function change(
    { userId, id }: Pick<OutboxItem, 'userId' | 'id'>,
    from: readonly OutboxState[],
    to: Pick<OutboxRow, 'state' | 'next_at' | 'error'>,
  ): Promise<OutboxItem> {
    const before = await find(userId, id)
    const { numUpdatedRows } = await database.write((writer) =>
      writer
        .updateTable('outbox')
        .set({ ...to, updated_at: clock.now() })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .where('state', 'in', from)
        .executeTakeFirst(),
    )
    const item = await find(userId, id)
    if (Number(numUpdatedRows) !== 1) {
      throw new FamiliarError('conflict', `It is ${item.state}: that cannot be changed any more.`)
    }
    lanes.wake(before)
    return item
  }

  return {
    async putIn(writer, items) {
      await insertItems(writer, { items, ids, now: clock.now() })
      for (const item of items) lanes.add(item)
      if (items.length > 0) onStep('items_put_in')
    },
    wake: lanes.wakeAll,
    async start(senders) {
      for (const sender of senders) {
        channels.set(sender.channel, { sender, turnstile: createTurnstile(mostAtOnce), pausedUntil: 0 })
      }
      await takeUp()
      lanes.wakeAll()
      void clear()
    },
    show: find,
    async list(userId, { state, channel, limit }) {
      let query = database.read.selectFrom('outbox').selectAll().where('user_id', '=', userId)
      if (state !== undefined) query = query.where('state', '=', state)
      if (channel !== undefined) query = query.where('channel', '=', channel)
      const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map(toItem)
    },
    async counts(userId) {
      const rows = await database.read
        .selectFrom('outbox')
        .select((select) => ['state', select.fn.countAll().as('count')])
        .where('user_id', '=', userId)
        .groupBy('state')
        .execute()
      const counts = { pending: 0, sending: 0, sent: 0, unknown: 0, failed: 0, cancelled: 0 }
      for (const { state, count } of rows) counts[state] = Number(count)
      return counts
    },
    retry: (userId, id) =>
      change({ userId, id }, ['failed', 'unknown', 'pending'], { state: 'pending', next_at: clock.now(), error: null }),
    cancel: (userId, id) =>
      change({ userId, id }, ['pending'], { state: 'cancelled', next_at: null, error: 'cancelled by the user' }),
    async close() {
      stopClearing()
      const stopWaiting = clock.after(graceMs, () => stop.abort())
      await lanes.close()
      stopWaiting()
      stop.abort()
    },
  }
}
