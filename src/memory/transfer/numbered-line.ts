/** A line of a file that is imported, counted from 1. */
export interface NumberedLine {
  line: number
  text: string
}

/** What a line of a file (or several, from this one on) says, before it is checked; or why it says nothing. */
export type FoundRecord = { line: number; value: unknown } | { line: number; problem: string }

/** Numbers the lines. A carriage return at the end of a line and a byte order mark are the file's, not the text's. */
export async function* numberLines(
  lines: AsyncIterable<string> | Iterable<string>,
  signal?: AbortSignal,
): AsyncGenerator<NumberedLine> {
  let line = 0
  for await (const text of lines) {
    signal?.throwIfAborted()
    line += 1
    const start = line === 1 && text.startsWith('\ufeff') ? 1 : 0
    yield { line, text: text.slice(start, text.endsWith('\r') ? -1 : undefined) }
  }
}

/** A memory has at most a million characters, each of which can take six in JSON. */
const longestLine = 16_000_000

/** The lines of a stream of bytes. Of a line that is longer than any that we write only the beginning is kept. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  let length = 0
  const keep = (part: string) => {
    if (length < longestLine) parts.push(part.slice(0, longestLine - length))
    length += part.length
  }
  const take = () => {
    const text = parts.join('')
    parts = []
    length = 0
    return text
  }
  for await (const chunk of chunks) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    keep(first)
    for (const next of others) {
      yield take()
      keep(next)
    }
  }
  keep(decoder.decode())
  if (length > 0) yield take()
}
