import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { TurnEvent } from '../../protocol/event.ts'
import type { Json } from '../../protocol/json.ts'
import type { Notices } from '../../storage/notices.ts'
import type { LiveResponses } from '../live-responses.ts'

/** A watcher says again and again that it is there; one that has not for this long is gone. */
const sayAgainMs = 10_000
const forgetMs = 25_000
/** Text that streams in goes out together this often. */
const sendMs = 40
/** Of a notice. Every character may take six bytes. */
const mostCharacters = 1_200

const watchSchema = z.object({ session: z.string() })
const liveSchema = z.discriminatedUnion('do', [
  z.object({ do: z.literal('begin'), session: z.string(), turn: z.string(), after: z.number() }),
  z.object({
    do: z.literal('add'),
    session: z.string(),
    from: z.number(),
    kind: z.enum(['text', 'thinking']),
    text: z.string(),
  }),
  z.object({ do: z.literal('end'), session: z.string() }),
  z.object({ do: z.literal('progress'), session: z.string(), event: z.json() }),
])

/**
 * Responses while they stream in, also to watchers at other daemons. A daemon with a watcher says so, and the one that runs
 * the turn tells it what there is of the response so far and then what comes: nobody is told what nobody watches.
 *
 * What is lost on the way is not missed for long: the log holds the response as soon as it is whole.
 */
export function shareLiveResponses(
  live: LiveResponses,
  { notices, clock, wake }: { notices: Notices; clock: Clock; wake(sessionId: string): void },
): LiveResponses & { close(): void } {
  /** Sessions that are watched elsewhere, until when. */
  const watchedElsewhere = new Map<string, number>()
  const watchedHere = new Map<string, number>()
  /** Sessions whose turn runs here, and how much of its response was told. */
  const told = new Map<string, number>()
  /** Responses that stream in elsewhere. */
  const theirs = new Set<string>()
  let cancelSending: (() => void) | undefined
  let cancelSaying: (() => void) | undefined

  function isWatched(sessionId: string): boolean {
    return (watchedElsewhere.get(sessionId) ?? 0) > clock.now()
  }

  function publish(notice: z.infer<typeof liveSchema>): void {
    notices.publish('live', notice as Json)
  }

  function tellBeginning(sessionId: string): void {
    const response = live.get(sessionId)
    if (!response) return
    publish({ do: 'begin', session: sessionId, turn: response.turnId, after: response.afterSeq })
    told.set(sessionId, 0)
    tellRest(sessionId)
  }

  function tellRest(sessionId: string): void {
    const response = live.get(sessionId)
    let from = told.get(sessionId)
    if (!response || from === undefined) return
    let start = 0
    for (const { kind, text } of response.parts) {
      const end = start + text.length
      for (let at = Math.max(from, start); at < end; ) {
        const piece = text.slice(at - start, at - start + mostCharacters)
        publish({ do: 'add', session: sessionId, from: at, kind, text: piece })
        at += piece.length
        from = at
      }
      start = end
    }
    told.set(sessionId, from)
  }

  function sendSoon(): void {
    cancelSending ??= clock.after(sendMs, () => {
      cancelSending = undefined
      for (const sessionId of told.keys()) if (isWatched(sessionId)) tellRest(sessionId)
    })
  }

  function sayWatched(): void {
    for (const session of watchedHere.keys()) notices.publish('watch', { session })
    cancelSaying = watchedHere.size > 0 ? clock.after(sayAgainMs, sayWatched) : undefined
  }

  const unfollow = [
    notices.on('watch', (data) => {
      const watch = watchSchema.safeParse(data)
      if (!watch.success) return
      const { session } = watch.data
      const isNew = !isWatched(session)
      watchedElsewhere.set(session, clock.now() + forgetMs)
      if (told.has(session)) isNew ? tellBeginning(session) : tellRest(session)
    }),
    notices.on('live', (data) => {
      const heard = liveSchema.safeParse(data)
      if (heard.success && watchedHere.has(heard.data.session) && !told.has(heard.data.session)) follow(heard.data)
    }),
    notices.onGap(() => {
      for (const session of theirs) live.end(session)
      theirs.clear()
      sayWatched()
    }),
  ]

  function follow(heard: z.infer<typeof liveSchema>): void {
    const { session } = heard
    if (heard.do === 'begin') {
      theirs.add(session)
      live.begin(session, heard.turn, heard.after)
    } else if (heard.do === 'add') {
      // Another watcher's beginning is told to all; a piece that does not follow the last one waits for the log.
      if (live.get(session)?.length === heard.from) live.add(session, heard.kind, heard.text)
    } else if (heard.do === 'end') {
      theirs.delete(session)
      live.end(session)
    } else {
      live.progress(session, heard.event as Extract<TurnEvent, { type: 'tool_progress' }>)
      wake(session)
    }
  }

  return {
    begin(sessionId, turnId, afterSeq) {
      live.begin(sessionId, turnId, afterSeq)
      theirs.delete(sessionId)
      told.set(sessionId, 0)
      if (isWatched(sessionId)) tellBeginning(sessionId)
    },
    add(sessionId, kind, text) {
      live.add(sessionId, kind, text)
      if (isWatched(sessionId)) sendSoon()
    },
    end(sessionId) {
      if (isWatched(sessionId)) {
        tellRest(sessionId)
        publish({ do: 'end', session: sessionId })
      } else watchedElsewhere.delete(sessionId)
      told.delete(sessionId)
      live.end(sessionId)
    },
    get: live.get,
    progress(sessionId, event) {
      live.progress(sessionId, event)
      if (isWatched(sessionId)) publish({ do: 'progress', session: sessionId, event: event as Json })
    },
    onProgress(sessionId, listener) {
      watchedHere.set(sessionId, (watchedHere.get(sessionId) ?? 0) + 1)
      notices.publish('watch', { session: sessionId })
      cancelSaying ??= clock.after(sayAgainMs, sayWatched)
      const unwatch = live.onProgress(sessionId, listener)
      return () => {
        unwatch()
        const left = (watchedHere.get(sessionId) ?? 1) - 1
        if (left > 0) watchedHere.set(sessionId, left)
        else watchedHere.delete(sessionId)
        if (left === 0 && theirs.delete(sessionId)) live.end(sessionId)
      }
    },
    close() {
      cancelSending?.()
      cancelSaying?.()
      for (const stop of unfollow) stop()
    },
  }
}
