import { setTimeout as wait } from 'node:timers/promises'
import type { TurnEvent } from '../../../src/protocol/events.ts'

/**
 * Reads the stream of a session at any daemon that answers: after a broken connection it continues at the next one with
 * the last id.
 */
export function watchStream(options: {
  sessionId: string
  token: string
  /** Asked at every attempt. */
  url(): string
}): { events: TurnEvent[]; connections(): number; stop(): Promise<void> } {
  const { sessionId, token } = options
  const events: TurnEvent[] = []
  const over = new AbortController()
  let last = '0'
  let connections = 0

  async function read(): Promise<void> {
    const response = await fetch(`${options.url()}/api/v1/sessions/${sessionId}/events`, {
      headers: { authorization: `Bearer ${token}`, 'last-event-id': last },
      signal: over.signal,
    })
    if (!response.ok || !response.body) return
    connections += 1
    let rest = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) take(part)
    }
  }

  function take(part: string): void {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(part)?.[1]
    const data = field('data')
    if (data === undefined) return
    last = field('id') ?? last
    events.push(JSON.parse(data))
  }

  const reading = (async () => {
    while (!over.signal.aborted) {
      await read().catch(() => undefined)
      if (!over.signal.aborted) await wait(10)
    }
  })()

  return {
    events,
    connections: () => connections,
    async stop() {
      over.abort()
      await reading
    },
  }
}

type Delta = Extract<TurnEvent, { type: 'text_delta' | 'thinking_delta' }>

/**
 * The content of a stream, however it was split: pieces of one text are joined, and text before a restart is dropped.
 */
export function wholeEvents(events: readonly TurnEvent[]): TurnEvent[] {
  const whole: TurnEvent[] = []
  for (const event of events) {
    const previous = whole.at(-1)
    if (event.type === 'tool_progress') continue
    if (isDelta(event) && previous?.type === event.type && previous.turnId === event.turnId) {
      whole[whole.length - 1] = { ...event, text: previous.text + event.text }
    } else if (event.type === 'retry') {
      while (isDelta(whole.at(-1))) whole.pop()
      whole.push(event)
    } else whole.push(event)
  }
  return whole
}

function isDelta(event: TurnEvent | undefined): event is Delta {
  return event?.type === 'text_delta' || event?.type === 'thinking_delta'
}
