import { startTransition, useCallback, useEffect, useRef, useState } from 'react'
import type { StreamedEvent, TurnEvent } from '../../../src/protocol/event.ts'
import type { TurnEventsReply } from '../../../src/protocol/page-api.ts'
import { ApiError, ask } from '../api/ask.ts'
import { follow } from '../api/follow.ts'
import { untilVisible, whileAttended } from './attention.ts'
import { addEvent, type Conversation, emptyConversation } from './conversation.ts'

export interface Talk {
  conversation: Conversation
  state: 'loading' | 'live' | 'cut_off' | 'absent' | 'failed'
  error: Error | undefined
  hasEarlier: boolean
  loadEarlier(): Promise<void>
}

const pageSize = 400

/**
 * A session, followed from its newest part on. Events are drawn together, some times a second and after whatever the user does,
 * so that a quick stream never keeps the page from what is being typed. Hidden tabs let go of their connection, of which a browser
 * has few, unless they are needed: somebody talks to them by voice.
 */
export function useConversation(sessionId: string | null, isNeeded: () => boolean): Talk {
  const [conversation, setConversation] = useState(emptyConversation)
  const [state, setState] = useState<Talk['state']>('loading')
  const [error, setError] = useState<Error>()
  const [before, setBefore] = useState<number | null>(null)
  const all = useRef<StreamedEvent[]>([])
  const newest = useRef(emptyConversation)
  const shown = useRef(sessionId)

  useEffect(() => {
    shown.current = sessionId
    setConversation(emptyConversation)
    setError(undefined)
    setBefore(null)
    all.current = []
    newest.current = emptyConversation
    if (sessionId === null) return setState('absent')
    setState('loading')
    const controller = new AbortController()
    void load(sessionId, controller.signal)
    return () => controller.abort()

    async function load(id: string, signal: AbortSignal): Promise<void> {
      try {
        const page = await ask<TurnEventsReply>(`/sessions/${id}/turn-events`, { query: { limit: pageSize }, signal })
        all.current = [...page.events]
        setBefore(page.before)
        newest.current = { ...page.events.reduce(addEvent, emptyConversation), cursor: page.cursor }
        setConversation(newest.current)
        setState('live')
        await followAttended(id, signal, (events) => {
          // The last of another session, which is not shown any more.
          if (signal.aborted) return
          all.current.push(...events)
          const current = events.reduce(addEvent, newest.current)
          newest.current = current
          // What is typed meanwhile comes first.
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
          path: () => `/api/v1/sessions/${id}/events?after=${encodeURIComponent(gather.cursor() ?? cursor())}`,
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
  }, [sessionId, isNeeded])

  const loadEarlier = useCallback(async () => {
    if (sessionId === null || before === null) return
    const page = await ask<TurnEventsReply>(`/sessions/${sessionId}/turn-events`, {
      query: { limit: pageSize, before },
    })
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
      // Nothing is drawn in a hidden page, whose timers may wait for a minute; what is said aloud does not.
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
