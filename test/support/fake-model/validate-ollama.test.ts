import { expect, test } from 'vitest'
import type { JsonObject } from './json.ts'
import { validateOllama } from './validate-ollama.ts'

const call = (args: unknown) => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ function: { name: 'read', arguments: args } }],
})

function judge(change: JsonObject): string | undefined {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...change }
  return validateOllama({ path: '/api/chat', headers: {}, body })?.message
}

test.each<[string, JsonObject]>([
  ['no messages, which loads the model', { messages: [] }],
  ['a result without a call', { messages: [{ role: 'tool', content: 'ok', tool_name: 'read' }] }],
  ['a call', { messages: [call({ a: 1 })] }],
  ['an image', { messages: [{ role: 'user', content: '?', images: ['AAAA'] }] }],
])('Ollama accepts %s', (_, change) => expect(judge(change)).toBeUndefined())

test.each<[string, JsonObject, string]>([
  ['no model', { model: '' }, 'model is required'],
  ['an unknown role', { messages: [{ role: 'model', content: 'x' }] }, 'invalid role: "model"'],
  ['content in parts', { messages: [{ role: 'user', content: [] }] }, 'of type string'],
  ['arguments as text', { messages: [call('{"a":1}')] }, 'ToolCallFunctionArguments'],
  [
    'an image as a data address',
    { messages: [{ role: 'user', images: ['data:image/png;base64,AA'] }] },
    'illegal base64',
  ],
])('Ollama refuses %s', (_, change, words) => expect(judge(change)).toContain(words))
