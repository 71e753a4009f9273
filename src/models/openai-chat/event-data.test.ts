import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventDataReader } from './event-data.ts'

const encoder = new TextEncoder()

function readAll(chunks: readonly Uint8Array[], limit?: number): string[] {
  const reader = createEventDataReader(limit)
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()]
}

const read = (text: string) => readAll([encoder.encode(text)])

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

describe('createEventDataReader', () => {
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

  it('MODEL-1 reads the same events however the bytes are cut', () => {
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

  it('MODEL-1 refuses an event past the limit, in one line or in many, ended or not', () => {
    const long = 'x'.repeat(60)
    for (const text of [`data: ${long}`, `data: ${long}\n\n`, `data: ${'y\ndata: '.repeat(60)}\n\n`]) {
      expect(() => readAll([encoder.encode(text)], 50)).toThrow(RangeError)
    }
    expect(readAll([encoder.encode('data: short\n\n'.repeat(20))], 50)).toHaveLength(20)
  })

  it('MODEL-1 reads a long line that comes byte by byte', () => {
    const reader = createEventDataReader()
    const byte = encoder.encode('x')
    reader.push(encoder.encode('data: '))
    for (let count = 0; count < 400_000; count += 1) reader.push(byte)
    expect(reader.push(encoder.encode('\n\n'))[0]).toHaveLength(400_000)
  })
})
