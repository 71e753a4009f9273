import { createParser } from 'eventsource-parser'

export interface ServerSentEvent {
  /** `message` where the server names none. */
  type: string
  /** The newest id of the stream, which may be an earlier event's; empty before the first. */
  id: string
  data: string
}

/** No event comes near it. Without a limit, a line that never ends would fill the memory. */
const maxEventLength = 16 * 1024 * 1024

/** Reads server-sent events from bytes, wherever they were cut. Throws a RangeError for an event past the limit. */
export function createEventReader(limit = maxEventLength) {
  const decoder = new TextDecoder()
  let found: ServerSentEvent[] = []
  let newestId = ''
  let endedWithReturn = false
  const parser = createParser({
    maxBufferSize: limit,
    onEvent({ event: type = 'message', id = newestId, data }) {
      if (data.length > limit) refuse()
      newestId = id
      found.push({ type, id, data })
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') refuse()
    },
  })

  function refuse(): never {
    throw new RangeError(`an event is longer than ${limit} characters`)
  }

  function take(text: string): ServerSentEvent[] {
    if (text === '') return []
    // The parser keeps a line back whose \r is the last character, as a \n may follow. Here that \n is dropped instead.
    const rest = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text
    endedWithReturn = text.endsWith('\r')
    parser.feed(endedWithReturn ? `${rest.slice(0, -1)}\n` : rest)
    const events = found
    found = []
    return events
  }

  return {
    /** The events that are now complete. */
    push: (bytes: Uint8Array) => take(decoder.decode(bytes, { stream: true })),
    /** After the last byte: the event that lacks its blank line. Some servers leave it out at the end of a stream. */
    end: () => [...take(decoder.decode()), ...take('\n'), ...take('\n')],
  }
}

/** The events of a `text/event-stream` body, as the standard reads them. A last event without its blank line is dropped. */
export async function* readEventStream(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = createEventReader()
  for await (const bytes of body) yield* reader.push(bytes)
}
