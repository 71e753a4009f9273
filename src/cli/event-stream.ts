export interface ServerSentEvent {
  /** `message` where the server names none. */
  type: string
  /** The newest id of the stream, which may be an earlier event's; empty before the first. */
  id: string
  data: string
}

// A server that never ends a line must not fill our memory.
const maxLineLength = 16 * 1024 * 1024

/** The events of a `text/event-stream` body, as the standard reads them. A last event without its blank line is dropped. */
export async function* readEventStream(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let type = ''
  let data: string[] = []
  let id = ''
  for await (const line of readLines(body)) {
    if (line === '') {
      if (data.length > 0) yield { type: type || 'message', id, data: data.join('\n') }
      type = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') type = value
    else if (field === 'data') data.push(value)
    else if (field === 'id' && !value.includes('\u0000')) id = value
  }
}

/** Lines ended by \n, \r\n or \r, whatever the chunks cut through. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    // A \r at the very end may be half of \r\n: it waits for the next chunk.
    for (let end = rest.search(lineEnd); end >= 0; end = rest.search(lineEnd)) {
      yield rest.slice(0, end)
      rest = rest.slice(end + (rest.startsWith('\r\n', end) ? 2 : 1))
    }
    if (rest.length > maxLineLength) throw new Error('a line of the event stream is too long')
  }
}

const lineEnd = /\n|\r(?!$)/
