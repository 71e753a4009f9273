// Taken from the module, so that tests which replace the global timers do not stop waiting.
import { setImmediate } from 'node:timers/promises'
import { FamiliarError } from '../protocol/error.ts'
import type { Inbox } from '../sessions/inbox.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { TurnEnd } from './conversations.ts'
import { turnEndOf } from './turn-end.ts'

type MessagePlace = NonNullable<Awaited<ReturnType<Inbox['find']>>>

/** Those who wait for the end of a message's turn, in this process. */
export interface TurnWaiters {
  /** The message was taken in here and its turn will end here, unless the work is shared: waiting for it needs no look at the database. */
  expect(messageId: string): void
  forget(messageId: string): void
  wait(messageId: string, signal?: AbortSignal): Promise<TurnEnd>
  /** Tells whoever waits for one of the messages how their turn ended. */
  settle(messageIds: readonly string[], end: TurnEnd): void
  close(): void
}

export function createTurnWaiters(dependencies: {
  log: SessionLog
  inbox: Inbox
  /** A turn may end at another daemon: the log tells. */
  isShared: boolean
}): TurnWaiters {
  const { log, inbox, isShared } = dependencies
  const waiting = new Map<string, Set<PromiseWithResolvers<TurnEnd>>>()
  const expected = new Set<string>()

  /** Looks again whenever something is written to the session; the message may move to another one meanwhile. */
  async function followLog(messageId: string, waiter: PromiseWithResolvers<TurnEnd>, over: AbortSignal): Promise<void> {
    const isOver = new Promise<void>((resolve) => over.addEventListener('abort', () => resolve(), { once: true }))
    let followed: string | undefined
    let unfollow = () => {}
    let changed = Promise.withResolvers<void>()
    try {
      while (!over.aborted) {
        changed = Promise.withResolvers()
        const place = await placeOf(messageId)
        const end = await endAt(place)
        if (end) return waiter.resolve(end)
        if (place.sessionId === followed) {
          await Promise.race([changed.promise, isOver])
          // Whoever ended the turn in this process says so right after it wrote: then there is nothing to look for.
          await setImmediate()
          continue
        }
        unfollow()
        followed = place.sessionId
        unfollow = log.onChange(followed, () => changed.resolve())
      }
    } finally {
      unfollow()
    }
  }

  async function placeOf(messageId: string): Promise<MessagePlace> {
    const place = await inbox.find(messageId)
    if (!place) throw new FamiliarError('not_found', `There is no message ${messageId}`)
    return place
  }

  async function endAt({ sessionId, turnId, done }: MessagePlace): Promise<TurnEnd | undefined> {
    return done && turnId ? turnEndOf(sessionId, await log.readTurn(sessionId, turnId)) : undefined
  }

  return {
    expect(messageId) {
      if (!isShared) expected.add(messageId)
    },
    forget: (messageId) => void expected.delete(messageId),
    async wait(messageId, signal) {
      signal?.throwIfAborted()
      const waiter = Promise.withResolvers<TurnEnd>()
      // It may be refused while the database is still being asked, when nobody waits for it yet.
      waiter.promise.catch(() => undefined)
      const waitersOfMessage = waiting.get(messageId) ?? new Set()
      waiting.set(messageId, waitersOfMessage.add(waiter))
      const abort = () => waiter.reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      const over = new AbortController()
      if (isShared) void followLog(messageId, waiter, over.signal).catch(waiter.reject)
      try {
        // What is not expected may have ended before this waiter stood in line.
        const mayHaveEnded = !isShared && !expected.has(messageId)
        return (mayHaveEnded && (await endAt(await placeOf(messageId)))) || (await waiter.promise)
      } finally {
        over.abort()
        signal?.removeEventListener('abort', abort)
        waitersOfMessage.delete(waiter)
        if (waitersOfMessage.size === 0) waiting.delete(messageId)
      }
    },
    settle(messageIds, end) {
      for (const messageId of messageIds) {
        expected.delete(messageId)
        for (const waiter of waiting.get(messageId) ?? []) waiter.resolve(end)
      }
    },
    close() {
      const stopping = new FamiliarError(
        'unavailable',
        'Familiar stopped before this turn ended; it goes on at the next start',
      )
      for (const waiters of waiting.values()) for (const waiter of waiters) waiter.reject(stopping)
    },
  }
}
