import { setTimeout as wait } from 'node:timers/promises'
import type { News } from '../../channels/terminal/tui/tui-partner.ts'
import type { SessionReply } from '../../protocol/api.ts'
import { isGone } from '../connect.ts'
import type { ChatLine } from './chat-line.ts'

/** Reads the session of a chat from its line, whatever becomes of either. */
export interface SessionFollower {
  /** Until the signal aborts. Never throws. */
  follow(listener: (news: News) => void, signal: AbortSignal): Promise<void>
  /** A message was taken into the session that is followed: a new one is read from its beginning. */
  arrivedIn(sessionId: string): void
  /** The chat goes on in the given session, from what is there already. */
  moveTo(session: SessionReply): void
}

const pauseMs = 500
const lookMs = 2_000

export function createSessionFollower(line: ChatLine, first: SessionReply | undefined): SessionFollower {
  let place = first && placeIn(first)
  let changed = new AbortController()
  let hear: (news: News) => void = () => undefined

  function goTo(next: { sessionId: string; cursor: string }): void {
    place = next
    changed.abort()
    changed = new AbortController()
  }

  async function read(listener: (news: News) => void, signal: AbortSignal): Promise<void> {
    // Nothing to read before the first message; whether somebody would answer it is still worth knowing.
    while (!place) {
      await wait(lookMs, undefined, { signal })
      await line.client().status(signal)
    }
    const from = place
    for await (const { cursor, event } of line.client().events(from.sessionId, { after: from.cursor, signal })) {
      from.cursor = cursor
      listener({ type: 'event', event })
    }
  }

  return {
    async follow(listener, signal) {
      hear = listener
      while (!signal.aborted) {
        const either = AbortSignal.any([signal, changed.signal])
        let error: unknown
        await read(listener, either).catch((cause: unknown) => {
          error = cause
        })
        if (either.aborted) continue
        // A stream that ends is of a Familiar that stops; what failed otherwise is tried again after a moment.
        if (error !== undefined && !isGone(error)) await wait(pauseMs, undefined, { signal }).catch(() => undefined)
        if (!line.connection().daemon) {
          await wait(pauseMs, undefined, { signal }).catch(() => undefined)
          continue
        }
        listener({ type: 'lost' })
        await mend(line, signal)
        if (signal.aborted) return
        if (place) place.cursor = wholeStep(place.cursor)
        listener({ type: 'back', where: whereOf(line) })
      }
    },
    arrivedIn(sessionId) {
      if (place?.sessionId !== sessionId) goTo({ sessionId, cursor: '0' })
    },
    moveTo(session) {
      if (place?.sessionId === session.id) return
      goTo(placeIn(session))
      hear({ type: 'moved', session: session.contact })
    },
  }
}

/** Until somebody answers. */
async function mend(line: ChatLine, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await line.reconnect()
      await line.client().status(signal)
      return
    } catch {
      await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** Without what was seen of a response under way: after a restart another one comes in its place. */
export function wholeStep(cursor: string): string {
  return cursor.replace(/^(\d+)\.[1-9]\d*(?:\.\d+)?$/, '$1')
}

export function whereOf(line: ChatLine): string {
  const { daemon } = line.connection()
  return daemon ? `daemon at ${daemon.url}` : 'inside this process; "familiar serve" keeps it running'
}

function placeIn(session: SessionReply): { sessionId: string; cursor: string } {
  return { sessionId: session.id, cursor: String(session.events) }
}
