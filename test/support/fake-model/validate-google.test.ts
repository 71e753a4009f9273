import { describe, expect, test } from 'vitest'
import { createIssued, issueThinking } from './issued.ts'
import type { JsonObject } from './json.ts'
import { validateGoogle } from './validate-google.ts'

const issued = createIssued()
issueThinking(issued, { text: 'hm', signature: 'sig' })

const user = (...parts: unknown[]) => ({ role: 'user', parts })
const model = (...parts: unknown[]) => ({ role: 'model', parts })
const text = (value: string) => ({ text: value })
const call = (more: JsonObject = {}) => ({ functionCall: { name: 'read', args: {} }, ...more })
const response = { functionResponse: { name: 'read', response: { content: 'ok' } } }

function judge(change: JsonObject, headers: Record<string, string> = { 'x-goog-api-key': 'key' }) {
  const body = { contents: [user(text('hi'))], ...change }
  return validateGoogle({ path: '/v1beta/models/m:streamGenerateContent', headers, body }, issued)
}

const say = (...contents: unknown[]) => ({ contents })

describe('a request that Gemini would accept', () => {
  test.each<[string, JsonObject]>([
    ['a conversation', say(user(text('a')), model(text('b')), user(text('c')))],
    ['parallel calls and as many responses', say(user(text('a')), model(call(), call()), user(response, response))],
    ['an issued signature', say(user(text('a')), model(call({ thoughtSignature: 'sig' })), user(response))],
    [
      'the signature that skips the check',
      say(user(text('a')), model(call({ thoughtSignature: 'skip_thought_signature_validator' })), user(response)),
    ],
    ['an image', say(user(text('a'), { inlineData: { mimeType: 'image/png', data: 'AAAA' } }))],
    ['tools', { tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'b.c' }] }] }],
  ])('%s', (_, change) => expect(judge(change)).toBeUndefined())
})

describe('a request that Gemini would refuse', () => {
  const unequal = 'number of function response parts is equal to the number of function call parts'
  test.each<[string, JsonObject, string]>([
    ['no contents', say(), 'contents is not specified'],
    ['no parts', say(user()), 'contents.parts must not be empty'],
    ['a part of nothing', say(user({})), "required oneof field 'data'"],
    ['an unknown role', say({ role: 'assistant', parts: [text('a')] }), 'Please use a valid role'],
    ['the model last', say(user(text('a')), model(text('b'))), 'end with a user role'],
    ['a call without a response', say(user(text('a')), model(call()), user(text('b'))), unequal],
    ['one response too few', say(user(text('a')), model(call(), call()), user(response)), unequal],
    [
      'a response without a call',
      say(user(text('a')), model(text('b')), user(response)),
      'immediately after a function call turn',
    ],
    [
      'a forged signature',
      say(user(text('a')), model(call({ thoughtSignature: 'x' })), user(response)),
      'Corrupted thought signature',
    ],
    [
      'two functions of one name',
      { tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] },
      'Duplicate function',
    ],
    ['a function name with a space', { tools: [{ functionDeclarations: [{ name: 'a b' }] }] }, 'Invalid function name'],
  ])('%s', (_, change, words) => {
    const rejection = judge(change)
    expect(rejection?.status).toBe(400)
    expect(rejection?.message).toContain(words)
  })

  test('no key', () => expect(judge({}, {})?.status).toBe(403))
})
