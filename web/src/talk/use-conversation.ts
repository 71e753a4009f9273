import { startTransition, useCallback, useEffect, useRef, useState } from 'react'
import type { StreamedEvent, TurnEvent } from '../../../src/protocol/event.ts'
import type { TurnEventsReply } from '../../../src/protocol/page-api.ts'
import { ApiError, ask } from '../api/ask.ts'
import { follow } from '../api/follow.ts'
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
 * so that a quick stream never keeps the page from what is being typed. Hidden tabs let go of their connection, of which a browser has few.
 */
export function useConversation(sessionId: string | null): Talk {
  const [conversation, setConversation] = useState(emptyConversation)
  const [state, setState] = useState<Talk['state']>('loading')
  const [error, setError] = useState<Error>()
  const [before, setBefore] = useState<number | null>(null)
  const earlier = useRef<StreamedEvent[]>([])

  useEffect(() => {
    setConversation(emptyConversation)
    setError(undefined)
    setBefore(null)
    earlier.current = []
    if (sessionId === null) return setState('absent')
    setState('loading')
    const controller = new AbortController()
    void load(sessionId, controller.signal)
    return () => controller.abort()

    async function load(id: string, signal: AbortSignal): Promise<void> {
      try {
        const page = await ask<TurnEventsReply>(`/sessions/${id}/turn-events`, { query: { limit: pageSize }, signal })
        earlier.current = [...page.events]
        setBefore(page.before)
        let current: Conversation = { ...page.events.reduce(addEvent, emptyConversation), cursor: page.cursor }
        setConversation(current)
        setState('live')
        await followVisible(
          id,
          signal,
          () => current.cursor,
          (events) => {
            current = events.reduce(addEvent, current)
            earlier.current.push(...events)
            // What is typed meanwhile comes first.
            startTransition(() => setConversation(current))
          },
        )
      } catch (cause) {
        if (signal.aborted) return
        setState(cause instanceof ApiError && cause.status === 404 ? 'absent' : 'failed')
        setError(cause as Error)
      }
    }

    async function followVisible(
      id: string,
      signal: AbortSignal,
      cursor: () => string,
      onEvents: (events: StreamedEvent[]) => void,
    ): Promise<void> {
      const gather = createGathering(onEvents)
      while (!signal.aborted) {
        const shown = whileVisible(signal)
        await follow({
          path: () => `/api/v1/sessions/${id}/events?after=${encodeURIComponent(gather.cursor() ?? cursor())}`,
          onEvent: ({ id: place, data, name }) => {
            if (name === 'error') return
            gather.add({ cursor: place ?? cursor(), event: data as TurnEvent })
          },
          onState: (isConnected) => setState(isConnected ? 'live' : 'cut_off'),
          signal: shown,
        })
        gather.flush()
        await untilVisible(signal)
      }
    }
  }, [sessionId])

  const loadEarlier = useCallback(async () => {
    if (sessionId === null || before === null) return
    const page = await ask<TurnEventsReply>(`/sessions/${sessionId}/turn-events`, {
      query: { limit: pageSize, before },
    })
    earlier.current = [...page.events, ...earlier.current]
    setBefore(page.before)
    setConversation((current) => ({
      ...earlier.current.reduce(addEvent, emptyConversation),
      cursor: current.cursor,
    }))
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
      if (isAsked) return
      isAsked = true
      setTimeout(flush, gatherMs)
    },
    flush,
    cursor: () => gathered.at(-1)?.cursor,
  }
}

const hiddenForMs = 60_000

/** Aborts a minute after the page was hidden, or with the outer signal. */
function whileVisible(outer: AbortSignal): AbortSignal {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  function look(): void {
    clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = setTimeout(() => controller.abort(), hiddenForMs)
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

function untilVisible(signal: AbortSignal): Promise<void> {
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
