import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventReader, readEventStream, type ServerSentEvent } from './server-sent-events.ts'

const encoder = new TextEncoder()

function readAll(chunks: readonly Uint8Array[], limit?: number): string[] {
  const reader = createEventReader(limit)
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()].map(({ data }) => data)
}

const read = (text: string) => readAll([encoder.encode(text)])

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

async function readCut(text: string, cutEvery: number): Promise<ServerSentEvent[]> {
  const bytes = new TextEncoder().encode(text)
  async function* body() {
    for (let start = 0; start < bytes.length; start += cutEvery) yield bytes.slice(start, start + cutEvery)
  }
  return Array.fromAsync(readEventStream(body()))
}

const stream = [
  ': a comment\n\n',
  'event: text_delta\nid: 7:1\ndata: {"text":"smörgås 🐚"}\n\n',
  'data: two\r\ndata:  lines\r\n\r\n',
  'retry: 10\rdata\r\r',
  'data: cut off',
].join('')

const expected = [
  { type: 'text_delta', id: '7:1', data: '{"text":"smörgås 🐚"}' },
  { type: 'message', id: '7:1', data: 'two\n lines' },
  { type: 'message', id: '7:1', data: '' },
]

describe('createEventReader', () => {
  it.each([
    ['LF', 'data: a\n\ndata: b\n\n', ['a', 'b']],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['no space after the colon, or two', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
    ['several lines of data', 'data: a\ndata: b\ndata\n\n', ['a\nb\n']],
    ['comments and other fields', ': ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\nevent: y\n\ndatabase: b\n\n', ['a']],
    ['a mark at the beginning', '\ufeffdata: a\n\n', ['a']],
    ['no blank line at the end', 'data: a\n\ndata: b', ['a', 'b']],
    ['nothing', '', []],
  ])('MODEL-1 reads %s', (_what, text, events) => {
    expect(read(text)).toEqual(events)
  })

  it('MODEL-1 reads the same events however the bytes are split', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\ufeff]/g, '').toWellFormed())
    const event = fc.array(line, { minLength: 1, maxLength: 3 })
    const noise = fc.constantFrom('', ': still here', 'event: ping', 'id: 7')
    const written = fc.array(fc.tuple(event, noise, fc.constantFrom('\n', '\r\n')), { maxLength: 6 })
    fc.assert(
      fc.property(written, fc.array(fc.nat()), (events, cuts) => {
        const text = events.map(([lines, extra, end]) =>
          [...(extra === '' ? [] : [extra]), ...lines.map((data) => `data: ${data}`), '', ''].join(end),
        )
        const chunks = cut(encoder.encode(text.join('')), cuts)
        expect(readAll(chunks)).toEqual(events.map(([lines]) => lines.join('\n')))
      }),
    )
  })

  it('MODEL-1 rejects an event above the limit, in one line or in many, ended or not', () => {
    const long = 'x'.repeat(60)
    for (const text of [`data: ${long}`, `data: ${long}\n\n`, `data: ${'y\ndata: '.repeat(60)}\n\n`]) {
      expect(() => readAll([encoder.encode(text)], 50)).toThrow(RangeError)
    }
    expect(readAll([encoder.encode('data: short\n\n'.repeat(20))], 50)).toHaveLength(20)
  })

  it('MODEL-1 reads a long line that comes byte by byte', () => {
    const reader = createEventReader()
    const byte = encoder.encode('x')
    reader.push(encoder.encode('data: '))
    for (let count = 0; count < 400_000; count += 1) reader.push(byte)
    expect(reader.push(encoder.encode('\n\n'))[0]?.data).toHaveLength(400_000)
  })
})

describe('readEventStream', () => {
  it.each([1, 2, 3, 7, 1000])('HTTP-4 an event stream cut every %d bytes reads the same', async (cutEvery) => {
    expect(await readCut(stream, cutEvery)).toEqual(expected)
  })
})
