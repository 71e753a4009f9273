import { FamiliarError } from '../protocol/error.ts'
import type { Inbox } from '../sessions/inbox.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { TurnEnd } from './conversations.ts'
import { turnEndOf } from './turn-end.ts'

/** Those who wait for the end of a message's turn, in this process. */
export interface TurnWaiters {
  wait(messageId: string, signal?: AbortSignal): Promise<TurnEnd>
  /** Tells whoever waits for a message of this turn how it ended. */
  settle(sessionId: string, turnId: string): Promise<void>
  close(): void
}

export function createTurnWaiters(dependencies: { log: SessionLog; inbox: Inbox }): TurnWaiters {
  const { log, inbox } = dependencies
  const waiting = new Map<string, Set<PromiseWithResolvers<TurnEnd>>>()

  async function endOf(messageId: string): Promise<TurnEnd | undefined> {
    const place = await inbox.find(messageId)
    if (!place) throw new FamiliarError('not_found', `There is no message ${messageId}`)
    if (!place.done || !place.turnId) return undefined
    return turnEndOf(place.sessionId, await log.readTurn(place.sessionId, place.turnId))
  }

  return {
    async wait(messageId, signal) {
      signal?.throwIfAborted()
      const waiter = Promise.withResolvers<TurnEnd>()
      const waitersOfMessage = waiting.get(messageId) ?? new Set()
      waiting.set(messageId, waitersOfMessage.add(waiter))
      const abort = () => waiter.reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      try {
        // It may have ended before this waiter stood in line.
        return (await endOf(messageId)) ?? (await waiter.promise)
      } finally {
        signal?.removeEventListener('abort', abort)
        waitersOfMessage.delete(waiter)
        if (waitersOfMessage.size === 0) waiting.delete(messageId)
        waiter.promise.catch(() => undefined)
      }
    },
    async settle(sessionId, turnId) {
      const events = await log.readTurn(sessionId, turnId)
      const end = turnEndOf(sessionId, events)
      if (!end) return
      for (const event of events) {
        if (event.type !== 'message_received') continue
        for (const waiter of waiting.get(event.messageId) ?? []) waiter.resolve(end)
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
