import { expect, it } from 'vitest'
import { readEventStream, type ServerSentEvent } from './event-stream.ts'

async function read(text: string, cutEvery: number): Promise<ServerSentEvent[]> {
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

it.each([1, 2, 3, 7, 1000])('HTTP-4 an event stream cut every %d bytes reads the same', async (cutEvery) => {
  expect(await read(stream, cutEvery)).toEqual(expected)
})
