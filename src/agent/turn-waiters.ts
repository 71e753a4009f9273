import { FamiliarError } from '../protocol/error.ts'
import type { Inbox } from '../sessions/inbox.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { TurnEnd } from './conversations.ts'
import { turnEndOf } from './turn-end.ts'

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
    while (!over.aborted) {
      const { sessionId } = (await inbox.find(messageId)) ?? { sessionId: '' }
      const changed = Promise.withResolvers<void>()
      const unfollow = log.onChange(sessionId, changed.resolve)
      try {
        const end = await endOf(messageId)
        if (end) return waiter.resolve(end)
        await Promise.race([changed.promise, isOver])
      } finally {
        unfollow()
      }
    }
  }

  async function endOf(messageId: string): Promise<TurnEnd | undefined> {
    const place = await inbox.find(messageId)
    if (!place) throw new FamiliarError('not_found', `There is no message ${messageId}`)
    if (!place.done || !place.turnId) return undefined
    return turnEndOf(place.sessionId, await log.readTurn(place.sessionId, place.turnId))
  }

  return {
    expect(messageId) {
      if (!isShared) expected.add(messageId)
    },
    forget: (messageId) => void expected.delete(messageId),
    async wait(messageId, signal) {
      signal?.throwIfAborted()
      const waiter = Promise.withResolvers<TurnEnd>()
      const waitersOfMessage = waiting.get(messageId) ?? new Set()
      waiting.set(messageId, waitersOfMessage.add(waiter))
      const abort = () => waiter.reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      const over = new AbortController()
      if (isShared) void followLog(messageId, waiter, over.signal).catch(waiter.reject)
      try {
        // What is not expected may have ended before this waiter stood in line.
        if (!expected.has(messageId)) return (await endOf(messageId)) ?? (await waiter.promise)
        return await waiter.promise
      } finally {
        over.abort()
        signal?.removeEventListener('abort', abort)
        waitersOfMessage.delete(waiter)
        if (waitersOfMessage.size === 0) waiting.delete(messageId)
        waiter.promise.catch(() => undefined)
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
