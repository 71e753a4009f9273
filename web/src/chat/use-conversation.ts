import { startTransition, useCallback, useEffect, useRef, useState } from 'react'
import type { StreamedEvent, TurnEvent } from '../../../src/protocol/events.ts'
import { ApiError, call, callRaw } from '../api/call.ts'
import { follow } from '../api/follow.ts'
import { addEvent, type Conversation, emptyConversation } from './conversation.ts'

const hiddenForMs = 60_000

/** Aborts after a minute in the background without use, or with the outer signal. */
export function whileAttended(outer: AbortSignal, isNeeded: () => boolean): AbortSignal {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  function look(): void {
    clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = setTimeout(letGo, hiddenForMs)
  }
  function letGo(): void {
    if (isNeeded()) look()
    else controller.abort()
  }
  document.addEventListener('visibilitychange', look)
  controller.signal.addEventListener('abort', () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  })
  outer.addEventListener('abort', () => controller.abort(), { once: true })
  look()
  return controller.signal
}

export function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || document.visibilityState === 'visible') return resolve()
    const look = () => {
      if (document.visibilityState === 'hidden' && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
  })
}

export interface OpenConversation {
  conversation: Conversation
  state: 'loading' | 'live' | 'cut_off' | 'absent' | 'failed'
  error: Error | undefined
  hasEarlier: boolean
  loadEarlier(): Promise<void>
}

const pageSize = 400
/** Earlier parts are read in larger steps: a search result may be far back. */
const earlierSize = 1_000

/**
 * A session, followed from its newest part. Events are rendered in batches and after user input, so that a fast stream never blocks
 * typing. Hidden tabs close their connection, because a browser has few of them, except while the user talks to them.
 */
export function useConversation(sessionId: string | null, isNeeded: () => boolean): OpenConversation {
  const [conversation, setConversation] = useState(emptyConversation)
  const [state, setState] = useState<OpenConversation['state']>('loading')
  const [error, setError] = useState<Error>()
  const [before, setBefore] = useState<number | null>(null)
  const all = useRef<StreamedEvent[]>([])
  const newest = useRef(emptyConversation)
  const shown = useRef<string | null>(null)
  /** Counts the branches that were chosen: each is read from its newest part. */
  const [branch, setBranch] = useState(0)

  // biome-ignore lint/correctness/useExhaustiveDependencies: once more for each branch.
  useEffect(() => {
    const isSame = shown.current === sessionId && sessionId !== null
    shown.current = sessionId
    setError(undefined)
    // The messages before the branch stay in view while the others are read.
    if (!isSame) {
      setConversation(emptyConversation)
      setBefore(null)
      all.current = []
      newest.current = emptyConversation
    }
    if (sessionId === null) return setState('absent')
    if (!isSame) setState('loading')
    const controller = new AbortController()
    void load(sessionId, controller.signal)
    return () => controller.abort()

    async function load(id: string, signal: AbortSignal): Promise<void> {
      try {
        const page = await call('page.turnEvents', { id, limit: pageSize }, { signal })
        all.current = [...page.events]
        setBefore(page.before)
        const { jumped } = newest.current
        newest.current = {
          ...page.events.reduce(addEvent, emptyConversation),
          cursor: page.cursor,
          ...(jumped !== undefined && { jumped }),
        }
        setConversation(newest.current)
        setState('live')
        await followAttended(id, signal, (events) => {
          // A late event of a session that is no longer shown.
          if (signal.aborted) return
          all.current.push(...events)
          const current = events.reduce(addEvent, newest.current)
          newest.current = current
          if (events.some(({ event }) => event.type === 'session_changed' && event.change === 'branched'))
            return setBranch((count) => count + 1)
          // Typing comes first.
          startTransition(() => setConversation(current))
        })
      } catch (cause) {
        if (signal.aborted) return
        setState(cause instanceof ApiError && cause.status === 404 ? 'absent' : 'failed')
        setError(cause as Error)
      }
    }

    async function followAttended(
      id: string,
      signal: AbortSignal,
      onEvents: (events: StreamedEvent[]) => void,
    ): Promise<void> {
      const gather = createGathering(onEvents)
      const cursor = () => newest.current.cursor
      while (!signal.aborted) {
        const attended = whileAttended(signal, isNeeded)
        await follow({
          open: () => {
            const after = gather.cursor() ?? cursor()
            return callRaw('sessions.events', { id, after }, { accept: 'text/event-stream', signal: attended })
          },
          onEvent: ({ id: place, data, name }) => {
            if (name === 'error') return
            gather.add({ cursor: place ?? cursor(), event: data as TurnEvent })
          },
          onState: (isConnected) => setState(isConnected ? 'live' : 'cut_off'),
          signal: attended,
        })
        gather.flush()
        await untilVisible(signal)
      }
    }
  }, [sessionId, isNeeded, branch])

  const loadEarlier = useCallback(async () => {
    if (sessionId === null || before === null) return
    const page = await call('page.turnEvents', { id: sessionId, limit: earlierSize, before })
    if (shown.current !== sessionId) return
    all.current = [...page.events, ...all.current]
    setBefore(page.before)
    const { cursor } = newest.current
    newest.current = { ...all.current.reduce(addEvent, emptyConversation), cursor }
    setConversation(newest.current)
  }, [sessionId, before])

  return { conversation, state, error, hasEarlier: before !== null, loadEarlier }
}

const gatherMs = 40

/** Hands events on together, often enough to look like a stream. */
function createGathering(onEvents: (events: StreamedEvent[]) => void) {
  let gathered: StreamedEvent[] = []
  let isAsked = false
  function flush(): void {
    isAsked = false
    if (gathered.length === 0) return
    const events = gathered
    gathered = []
    onEvents(events)
  }
  return {
    add(event: StreamedEvent): void {
      gathered.push(event)
      // A hidden page renders nothing, and its timers may wait for a minute; speech must not wait.
      if (document.visibilityState === 'hidden') flush()
      else if (!isAsked) {
        isAsked = true
        setTimeout(flush, gatherMs)
      }
    },
    flush,
    cursor: () => gathered.at(-1)?.cursor,
  }
}
