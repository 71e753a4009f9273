import type { CallToolResult } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readServerResult } from './call-host.ts'

const putMedia = async () => {
  throw new Error('no media here')
}
const read = async (structuredContent: NonNullable<CallToolResult['structuredContent']>, ...texts: string[]) => {
  const content = texts.map((text) => ({ type: 'text' as const, text }))
  const result: CallToolResult = { content, structuredContent }
  return (await readServerResult(result, { server: 'one', putMedia })).text
}

it.each<[string, NonNullable<CallToolResult['structuredContent']>, string[], string]>([
  ['as compact JSON', { a: 1, b: [2] }, ['{"b":[2],"a":1}'], '{"b":[2],"a":1}'],
  ['as indented JSON', { a: 1 }, ['{\n  "a": 1\n}'], '{\n  "a": 1\n}'],
  ['as the text inside of a wrapped result', { result: 'sunny' }, ['sunny'], 'sunny'],
  ['as the number inside of a wrapped result', { result: 5 }, ['5'], '5'],
  ['as the JSON inside of a wrapped result', { result: [{ a: 1 }] }, ['[{"a":1}]'], '[{"a":1}]'],
  ['as a part for each item', { result: ['a', 'b'] }, ['a', 'b'], 'a\nb'],
  ['as a wrapped text that is JSON', { result: '{"a":1}' }, ['{"a": 1}'], '{"a": 1}'],
])('TOOL-12 sends a structured result once: %s', async (_name, structured, texts, expected) => {
  expect(await read(structured, ...texts)).toBe(expected)
})

it('TOOL-12 sends a structured result that the text does not contain', async () => {
  expect(await read({ temperature: 20 }, 'Here is the weather.')).toBe('Here is the weather.\n{"temperature":20}')
  expect(await read({ temperature: 20 })).toBe('{"temperature":20}')
})

const words = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('image/png', 'audio/wav', 'text/plain'),
)
const bytes = fc.oneof(
  fc.uint8Array({ minLength: 1 }).map((data) => Buffer.from(data).toString('base64')),
  fc.string(),
)
const resource = fc.oneof(
  fc.record({ uri: words, mimeType: words, blob: bytes }),
  fc.record({ uri: words, text: words }),
)
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: words }),
  fc.record({ type: fc.constantFrom('image', 'audio'), mimeType: words, data: bytes }),
  fc.record({ type: fc.constant('resource'), resource }),
  fc.record({ type: fc.constant('resource_link'), name: words, uri: words }),
)

describe('any result of a server', () => {
  it('SEC-18 becomes text and a few files within the limits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), fc.option(fc.jsonValue()), async (content, structured) => {
        const result = { content, ...(structured !== null && { structuredContent: structured }) }
        const put: { mediaType: string; bytes: number }[] = []
        const read = await readServerResult(result as never, {
          server: 'one',
          async putMedia({ name, mediaType, data }) {
            put.push({ mediaType, bytes: data.length })
            return { type: 'media', hash: 'hash', name, mediaType, bytes: data.length }
          },
        })
        expect(read.text.length).toBeLessThanOrEqual(20_100)
        expect(read.text.isWellFormed()).toBe(true)
        expect(read.text).not.toContain('\0')
        expect(read.media).toHaveLength(put.length)
        expect(put.length).toBeLessThanOrEqual(5)
        expect(put.every((each) => each.bytes > 0 && /^(?:image|audio)\//.test(each.mediaType))).toBe(true)
      }),
    )
  })
})
