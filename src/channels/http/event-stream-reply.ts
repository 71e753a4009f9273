import type { Clock } from '../../base/clock.ts'
import type { StreamedEvent } from '../../protocol/event.ts'
import { commonHeaders } from './json-reply.ts'

export interface SentEvent {
  /** Absent: data alone, as some clients want it. */
  name?: string
  /** Text is sent as it is. */
  data: object | string
  /** Comes back as `Last-Event-ID` from a client that reconnects. */
  id?: string
}

const keepAliveMs = 15_000
const headers = { ...commonHeaders, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

/**
 * Server-sent events, taken from `events` no faster than the client reads them. A client that has gone and a stream
 * that has ended both call `release`, once, which must end `events`. An error of theirs becomes the last event.
 */
export function eventStreamReply(options: {
  events: AsyncIterator<SentEvent>
  release: () => void
  toErrorEvent(cause: unknown): SentEvent
  clock: Clock
  /** Takes secrets out of what an event tells. */
  redact?: ((data: object) => object) | undefined
  headers?: Record<string, string>
}): Response {
  const { events, toErrorEvent, clock, redact = (data) => data } = options
  const encode = (event: SentEvent) =>
    encodeEvent(typeof event.data === 'string' ? event : { ...event, data: redact(event.data) })
  let ended = false
  let stopKeepAlive = () => {}

  function end(): void {
    if (ended) return
    ended = true
    stopKeepAlive()
    options.release()
  }

  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const keepAlive = () => {
          // A client that does not read what is there needs no sign of life.
          if ((controller.desiredSize ?? -1) >= 0) controller.enqueue(Buffer.from(': keep-alive\n\n'))
          stopKeepAlive = clock.after(keepAliveMs, keepAlive)
        }
        stopKeepAlive = clock.after(keepAliveMs, keepAlive)
      },
      async pull(controller) {
        let last: SentEvent | undefined
        try {
          const next = await events.next()
          if (!next.done && !ended) return controller.enqueue(encode(next.value))
        } catch (cause) {
          last = toErrorEvent(cause)
        }
        if (ended) return
        if (last) controller.enqueue(encode(last))
        end()
        controller.close()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { headers: options.headers ? { ...headers, ...options.headers } : headers })
}

/** Events of a session under their own names; only some of them where `only` says which. */
export async function* toSentEvents(
  events: AsyncIterable<StreamedEvent>,
  only?: ReadonlySet<string>,
): AsyncGenerator<SentEvent> {
  for await (const { cursor, event } of events) {
    if (!only || only.has(event.type)) yield { id: cursor, name: event.type, data: event }
  }
}

function encodeEvent(event: SentEvent): Uint8Array {
  const id = event.id === undefined ? '' : `id: ${event.id}\n`
  const name = event.name === undefined ? '' : `event: ${event.name}\n`
  const data = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
  return Buffer.from(`${id}${name}data: ${data}\n\n`)
}
