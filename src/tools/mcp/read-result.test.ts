import type { CallToolResult } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
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
