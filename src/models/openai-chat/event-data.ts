/** Reads server-sent events from bytes, however they were cut. `push` returns the data of each event that is whole. */
export interface EventDataReader {
  push(bytes: Uint8Array): string[]
  /** After the last byte: what stands there without its blank line. Servers leave it out at the end of a stream. */
  end(): string[]
}

/** No event of a model comes near it. Without a limit, a line that never ends would fill the memory. */
const longestEvent = 16 * 1024 * 1024

/**
 * Only `data` counts; names, ids and comments are passed over. Lines end in LF or CRLF. Every character is looked at
 * once, also where one line comes in many pieces. Throws a RangeError for an event past the limit.
 */
export function createEventDataReader(limit = longestEvent): EventDataReader {
  const decoder = new TextDecoder()
  /** The beginning of a line whose end has not come. */
  let line = ''
  /** The data of the event under way; undefined before its first line. */
  let data: string | undefined
  let found: string[] = []

  function take(text: string): void {
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const piece = text.slice(start, end)
      start = end + 1
      checkLength(piece)
      endLine(line === '' ? piece : line + piece)
      line = ''
    }
    if (start === text.length) return
    const piece = start === 0 ? text : text.slice(start)
    checkLength(piece)
    line += piece
  }

  function checkLength(piece: string): void {
    if (line.length + piece.length + (data?.length ?? 0) <= limit) return
    throw new RangeError(`an event is longer than ${limit} characters`)
  }

  function endLine(ended: string): void {
    const whole = ended.endsWith('\r') ? ended.slice(0, -1) : ended
    if (whole === '') endEvent()
    else if (whole.startsWith('data:')) add(whole.slice(whole[5] === ' ' ? 6 : 5))
    else if (whole === 'data') add('')
  }

  function add(value: string): void {
    data = data === undefined ? value : `${data}\n${value}`
  }

  function endEvent(): void {
    if (data !== undefined) found.push(data)
    data = undefined
  }

  function taken(): string[] {
    const events = found
    found = []
    return events
  }

  return {
    push(bytes) {
      take(decoder.decode(bytes, { stream: true }))
      return taken()
    },
    end() {
      take(`${decoder.decode()}\n`)
      endEvent()
      return taken()
    },
  }
}
