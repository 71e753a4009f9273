import { type Clock, sleep } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import { createTurnstile, type Turnstile } from '../base/work.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type Database, type Reader, reusableQuery, type Writer } from '../storage/database.ts'
import type { OutboxRow } from '../storage/feature-tables.ts'
import {
  type OnOutboxStep,
  type OutboxItem,
  type OutboxState,
  type OutgoingItem,
  pauseAfter,
  pausedUntil,
  type Sender,
  type SendOutcome,
  toItem,
  writeOutcome,
} from './outbox.ts'

const maxAtOnce = 8
const clearEveryMs = 24 * 60 * 60_000
const graceMs = 3_000

interface Channel {
  sender: Sender
  turnstile: Turnstile
  pausedUntil: number
}

export type Outbox = ReturnType<typeof createOutbox>

export function createOutbox(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  logger: Logger
  random?: () => number
  onStep?: OnOutboxStep
}) {
  const { database, clock, ids, logger, random = Math.random, onStep = () => {} } = dependencies
  const channels = new Map<string, Channel>()
  const lanes = createLanes({ clock, logger, advance })
  const stop = new AbortController()
  let stopClearing = () => {}

  async function advance(address: Address): Promise<LaneState> {
    const channel = channels.get(address.channel)
    if (!channel) return 'empty'
    return channel.turnstile(async () => {
      // If the first item has to wait, later ones wait with it.
      const [head] = (await selectFirstOpen(database.read, address)).rows
      if (!head) return 'empty'
      const notBefore = Math.max(Number(head.next_at), channel.pausedUntil)
      if (notBefore > clock.now()) return { notBefore }
      if (stop.signal.aborted) return 'empty'
      // Durable before the first byte is sent.
      const claimed = await database.write((writer) => markSending(writer, { id: head.id, now: clock.now() }))
      // It was cancelled meanwhile.
      if (!claimed.rows[0]) return 'more'
      const item = toItem(claimed.rows[0])
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
      if (stop.signal.aborted) return { kind: 'unknown', reason: 'Familiar was stopped while sending it' }
      logger.error('a sender failed', { channel: item.channel, item: item.id, error: cause })
      return { kind: 'unknown', reason: reasonOf(cause) }
    }
  }

  /** A known outcome must not be lost on a full disk: it is written as soon as possible. */
  async function settle(item: OutboxItem, outcome: SendOutcome): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await settleOnce(item, outcome)
      } catch (error) {
        logger.error('could not write the outcome of a delivery', { item: item.id, outcome: outcome.kind, error })
        // Unwritten, it has an unknown outcome at the next start.
        if (stop.signal.aborted) return
        await sleep(clock, pauseAfter(failures, random), stop.signal).catch(() => undefined)
      }
    }
  }

  async function settleOnce(item: OutboxItem, outcome: SendOutcome): Promise<void> {
    const channel = channels.get(item.channel)
    const now = clock.now()
    // Before it is written: otherwise other items would be sent meanwhile.
    const pause = (until: number) => {
      if (channel) channel.pausedUntil = Math.max(channel.pausedUntil, until)
    }
    if (outcome.kind === 'retry' && outcome.isForAll) pause(now + (outcome.afterMs ?? 0))
    const settled = await database.write((writer) =>
      writeOutcome(writer, item, { outcome, sender: channel?.sender, now, random }),
    )
    if (settled.pausedUntil !== null) pause(settled.pausedUntil)
    if (settled.movedTo !== null) lanes.wake({ channel: item.channel, address: settled.movedTo })
    if (settled.state === 'failed' || settled.state === 'unknown') {
      const { id, attempts } = item
      const isFailed = settled.state === 'failed'
      const message = isFailed ? 'an item was not delivered' : 'an item may or may not have been delivered'
      logger.warn(message, { channel: item.channel, item: id, attempts, reason: settled.reason })
    }
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
    const reason = 'Familiar was interrupted while sending it'
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
      logger.warn('could not delete old outbox items', { error })
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
    if (!row) throw new FamiliarError('not_found', `The outbox has no item ${id.slice(0, 120)}`)
    return toItem(row)
  }

  /** Throws `conflict` if it is in none of the states. */
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
      throw new FamiliarError('conflict', `The item is ${item.state} and can no longer be changed.`)
    }
    lanes.wake(before)
    return item
  }

  return {
    /** In the caller's unit; nothing is sent before its commit and a call of `wake`. */
    async putIn(writer: Writer, items: readonly OutgoingItem[]) {
      const now = clock.now()
      for (const item of items) {
        const [newest] = (await selectNewestOpen(writer, item)).rows
        const newestAt = Number(newest?.created_at ?? 0)
        const id = ids.next()
        // Sorted by time and id: a clock that was set back must not put anything before waiting items.
        const isBefore = newestAt > now || (newestAt === now && (newest?.id ?? '') > id)
        const at = isBefore ? newestAt + 1 : now
        await insertItem(writer, { ...item, id, payload: JSON.stringify(item.payload), at })
      }
      for (const item of items) lanes.add(item)
      if (items.length > 0) onStep('items_put_in')
    },
    /** Items were added. Returns at once. */
    wake: lanes.wakeAll,
    /** Starts sending; items that an earlier run was sending have an unknown outcome. */
    async start(senders: readonly Sender[]) {
      for (const sender of senders) {
        channels.set(sender.channel, { sender, turnstile: createTurnstile(maxAtOnce), pausedUntil: 0 })
      }
      await takeUp()
      lanes.wakeAll()
      void clear()
    },
    /** Throws `not_found` if there is none. */
    show: find,
    /** Newest first; items of other users are not visible. */
    async list(
      userId: string,
      { state, channel, limit }: { state?: OutboxState; channel?: string; limit: number },
    ): Promise<OutboxItem[]> {
      let query = database.read.selectFrom('outbox').selectAll().where('user_id', '=', userId)
      if (state !== undefined) query = query.where('state', '=', state)
      if (channel !== undefined) query = query.where('channel', '=', channel)
      const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map(toItem)
    },
    async counts(userId: string): Promise<Record<OutboxState, number>> {
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
    /**
     * Retries an item that failed, waits or has an unknown outcome. Throws `not_found`, or `conflict` if it is being sent
     * or was sent.
     */
    retry: (userId: string, id: string): Promise<OutboxItem> =>
      change({ userId, id }, ['failed', 'unknown', 'pending'], { state: 'pending', next_at: clock.now(), error: null }),
    /** The item is not sent any more. Throws `conflict` if it is being sent or finished. */
    cancel: (userId: string, id: string): Promise<OutboxItem> =>
      change({ userId, id }, ['pending'], { state: 'cancelled', next_at: null, error: 'cancelled by the user' }),
    /** Lets running sends finish for a moment, and starts nothing more. */
    async close() {
      stopClearing()
      const stopWaiting = clock.after(graceMs, () => stop.abort())
      await lanes.close()
      stopWaiting()
      stop.abort()
    },
  }
}

const keptMs = 30 * 24 * 60 * 60_000
const stepSize = 200

/** Deletes items a month after their end, in small steps, so that others do not wait. */
async function clearOldItems(database: Database, now: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const old = await database.read
      .selectFrom('outbox')
      .select('id')
      // Through the index of users and times: the table is large.
      .where('user_id', 'in', (users) => users.selectFrom('users').select('id'))
      .where('created_at', '<', now - keptMs)
      .where('next_at', 'is', null)
      .limit(stepSize)
      .execute()
    if (old.length === 0) return
    const ids = old.map(({ id }) => id)
    await database.write((writer) =>
      writer.deleteFrom('outbox').where('id', 'in', ids).where('next_at', 'is', null).execute(),
    )
  }
}

/** The state of a lane: continue at once, not before a time, or empty. */
type LaneState = 'more' | 'empty' | { notBefore: number }

interface Lane extends Address {
  isRunning: boolean
  /** Woken while it was reading, so the result may be outdated. */
  isWoken: boolean
  stopTimer(): void
}

/**
 * A timer counts only time when the machine is awake, and the clock may be set: after this time the lane is checked
 * again.
 */
const maxWaitMs = 5 * 60_000
const pauseAfterErrorMs = 5_000

/**
 * One lane per address: one item at a time within it, and no lane waits for another. Nothing is read unless an item was
 * added or is due.
 */
function createLanes(dependencies: { clock: Clock; logger: Logger; advance(address: Address): Promise<LaneState> }) {
  const { clock, logger, advance } = dependencies
  const lanes = new Map<string, Lane>()
  const running = new Set<Promise<void>>()
  let isClosed = false

  function laneOf({ channel, address }: Address): Lane {
    const name = `${channel}\n${address}`
    const known = lanes.get(name)
    if (known) return known
    const lane = { channel, address, isRunning: false, isWoken: false, stopTimer: () => {} }
    lanes.set(name, lane)
    return lane
  }

  function wake(lane: Lane): void {
    if (isClosed) return
    lane.stopTimer()
    if (lane.isRunning) {
      lane.isWoken = true
      return
    }
    lane.isRunning = true
    const run = follow(lane).finally(() => running.delete(run))
    running.add(run)
  }

  async function follow(lane: Lane): Promise<void> {
    try {
      for (;;) {
        lane.isWoken = false
        const state = await advance(lane)
        if (isClosed) return
        if (state === 'more' || lane.isWoken) continue
        if (state !== 'empty') wakeAt(lane, state.notBefore)
        return
      }
    } catch (error) {
      logger.error('the outbox failed and will retry', { channel: lane.channel, error })
      wakeAt(lane, clock.now() + pauseAfterErrorMs)
    } finally {
      lane.isRunning = false
    }
  }

  function wakeAt(lane: Lane, time: number): void {
    const wait = Math.min(maxWaitMs, Math.max(0, time - clock.now()))
    lane.stopTimer = clock.after(wait, () => wake(lane))
  }

  return {
    add: (address: Address) => void laneOf(address),
    wake: (address: Address) => wake(laneOf(address)),
    /** All of them: the caller does not know which units are committed, and there are few lanes. */
    wakeAll(): void {
      for (const lane of lanes.values()) wake(lane)
    },
    /** Starts nothing more; resolves when nothing is running. */
    async close(): Promise<void> {
      isClosed = true
      for (const lane of lanes.values()) lane.stopTimer()
      await Promise.all(running)
    },
  }
}

type Address = Pick<OutgoingItem, 'channel' | 'address'>

function openAt(database: Reader | Writer, { channel, address }: Address) {
  const items = database.selectFrom('outbox').where('channel', '=', channel).where('address', '=', address)
  return items.where('next_at', 'is not', null).limit(1)
}

const selectNewestOpen = reusableQuery((database, address: Address) =>
  openAt(database, address).select(['created_at', 'id']).orderBy('created_at', 'desc').orderBy('id', 'desc'),
)

const selectFirstOpen = reusableQuery((database, address: Address) =>
  openAt(database, address).selectAll().orderBy('created_at').orderBy('id'),
)

type NewItem = Omit<OutgoingItem, 'payload'> & { id: string; payload: string; at: number }

const insertItem = reusableQuery((database, item: NewItem) =>
  database
    .insertInto('outbox')
    .values({
      id: item.id,
      user_id: item.userId,
      channel: item.channel,
      address: item.address,
      key: item.key,
      payload: item.payload,
      state: 'pending',
      attempts: 0,
      next_at: item.at,
      error: null,
      external_id: null,
      session_id: item.sessionId,
      repeats: null,
      created_at: item.at,
      updated_at: item.at,
    })
    .onConflict((conflict) => conflict.columns(['channel', 'key']).doNothing()),
)

const markSending = reusableQuery((database, { id, now }: { id: string; now: number }) =>
  database
    .updateTable('outbox')
    .set((expression) => ({ state: 'sending', attempts: expression('attempts', '+', 1), updated_at: now }))
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .returningAll(),
)
