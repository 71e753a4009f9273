import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { SessionLog } from '../../sessions/session-log.ts'
import type { Database } from '../../storage/database.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { markBeginnings } from './delivery-beginning.ts'
import type { DeliveryChannel, DeliverySession } from './delivery-channel.ts'
import { findSession, readCursor, selectBehind, writeCursor } from './delivery-cursor.ts'

/**
 * Puts what sessions say into the outbox, once, in order (OUT-2). What events become and that they were gone through is
 * written in one unit, so that a crash changes nothing but when it is done.
 */
export interface Deliveries {
  /** Catches up, and follows the log from then on. Channels that are not among these deliver nothing. */
  start(channels: readonly DeliveryChannel[]): Promise<void>
  /** Looks for what it may not have been told of. Nothing before `start`. */
  catchUp(): Promise<void>
  /** Resolves when everything that is in the log by now has been gone through. */
  settle(): Promise<void>
  close(): Promise<void>
}

/** How far one channel has gone through one session. */
interface Place {
  /** Events that became nothing are not worth a commit of their own: what is written lies behind what was seen. */
  written: number
  seen: number
}

interface Wanted {
  session: DeliverySession
  places: { channel: DeliveryChannel; place: Place }[]
}

const pageSize = 100
/** So much is gone through anew after a crash at most. */
const mostUnwritten = 500
const mostRemembered = 10_000
const pauseAfterErrorMs = 5_000

export function createDeliveries(dependencies: {
  database: Database
  log: Pick<SessionLog, 'read' | 'onAnyChange'>
  outbox: Pick<Outbox, 'putIn' | 'wake'>
  clock: Clock
  logger: Logger
}): Deliveries {
  const { database, log, outbox, clock, logger } = dependencies
  const stop = new AbortController()
  const changed = new Set<string>()
  /** By session; null where nobody wants it. */
  const known = new Map<string, Wanted | null>()
  let channels: readonly DeliveryChannel[] = []
  let beginnings: ReadonlyMap<string, number> = new Map()
  let isCatchingUp = true
  let running: Promise<void> | undefined
  let unfollow = () => {}

  /** Called after every commit to every log: for a session that nobody wants it must cost nothing. */
  function notice(sessionId: string): void {
    if (known.get(sessionId) === null) return
    changed.add(sessionId)
    begin()
  }

  function begin(): void {
    if (running || stop.signal.aborted) return
    running = work().finally(() => {
      running = undefined
      // Something may have come between the last look and here.
      if (changed.size > 0) begin()
    })
  }

  async function catchUp(): Promise<void> {
    for (const channel of channels) {
      const behind = await selectBehind(database, channel.channel, beginnings.get(channel.channel) ?? 0)
      for (const session of behind) if (channel.wants(session)) changed.add(session.id)
    }
    begin()
  }

  async function work(): Promise<void> {
    for (const sessionId of changed) {
      if (stop.signal.aborted) return
      changed.delete(sessionId)
      try {
        await deliver(sessionId)
      } catch (error) {
        if (stop.signal.aborted) return
        logger.error('what a session says could not be put into the outbox; it is tried again', { sessionId, error })
        known.delete(sessionId)
        // By itself, so that the other sessions do not wait for it.
        clock.after(pauseAfterErrorMs, () => notice(sessionId))
      }
    }
    isCatchingUp = false
  }

  async function deliver(sessionId: string): Promise<void> {
    const wanted = await findWanted(sessionId)
    if (!wanted) return
    for (const { channel, place } of wanted.places) {
      while (!stop.signal.aborted && (await deliverPage(channel, wanted.session, place))) {}
    }
  }

  /** True where there may be more. */
  async function deliverPage(channel: DeliveryChannel, session: DeliverySession, place: Place): Promise<boolean> {
    const { events, damaged } = await log.read(session.id, { after: place.seen, limit: pageSize })
    if (events.length + damaged === 0) return false
    // The places of a log have no gaps, and a row that cannot be read must not hold up the others.
    const to = Math.max(place.seen + events.length + damaged, events.at(-1)?.seq ?? 0)
    const beginning = beginnings.get(channel.channel) ?? Number.POSITIVE_INFINITY
    const fresh = events.filter(({ at }) => at >= beginning)
    const items = await channel.toItems(session, fresh)
    if (items.length > 0 || isCatchingUp || to - place.written >= mostUnwritten) {
      await database.write(async (writer) => {
        await writeCursor(writer, { channel: channel.channel, sessionId: session.id, seq: to })
        await outbox.putIn(writer, items)
      })
      place.written = to
    }
    place.seen = to
    if (items.length > 0) outbox.wake()
    return events.length + damaged === pageSize
  }

  async function findWanted(sessionId: string): Promise<Wanted | null> {
    const remembered = known.get(sessionId)
    if (remembered !== undefined) return remembered
    const session = await findSession(database, sessionId)
    if (!session) return null
    const places = await Promise.all(
      channels
        .filter((channel) => channel.wants(session))
        .map(async (channel) => {
          const written = await readCursor(database, channel.channel, sessionId)
          return { channel, place: { written, seen: written } }
        }),
    )
    const wanted = places.length > 0 ? { session, places } : null
    if (known.size >= mostRemembered) known.clear()
    known.set(sessionId, wanted)
    return wanted
  }

  return {
    async start(given) {
      channels = given
      const names = channels.map(({ channel }) => channel)
      beginnings = await markBeginnings({ database, clock }, names)
      unfollow = log.onAnyChange(notice)
      await catchUp()
    },
    catchUp,
    async settle() {
      while (running && !stop.signal.aborted) await running
    },
    async close() {
      unfollow()
      stop.abort()
      await running
    },
  }
}
