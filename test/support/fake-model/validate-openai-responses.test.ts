import { describe, expect, test } from 'vitest'
import { createIssued, issueThinking } from './issued.ts'
import type { JsonObject } from './json.ts'
import { validateOpenaiResponses } from './validate-openai-responses.ts'

const issued = createIssued()
issueThinking(issued, { text: 'hm', signature: 'enc' })
issued.items.set('rs_1', { type: 'reasoning', stored: true })
issued.items.set('msg_1', { type: 'message', stored: true, reasoningId: 'rs_1' })
issued.items.set('fc_1', { type: 'function_call', stored: true, reasoningId: 'rs_1' })
issued.items.set('msg_2', { type: 'message', stored: false })
issued.responses.add('resp_1')

const user = { role: 'user', content: [{ type: 'input_text', text: 'hi' }] }
const reference = (id: string) => ({ type: 'item_reference', id })
const reasoning = { type: 'reasoning', id: 'rs_9', encrypted_content: 'enc', summary: [] }
const call = (call_id: string, more: JsonObject = {}) => ({
  type: 'function_call',
  call_id,
  name: 'r',
  arguments: '{}',
  ...more,
})
const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'ok' })

function judge(change: JsonObject, headers: Record<string, string> = { authorization: 'Bearer key' }) {
  const body = { model: 'm', input: [user], ...change }
  return validateOpenaiResponses({ path: '/v1/responses', headers, body }, issued)
}

const say = (...input: unknown[]) => ({ input })

describe('a request that the Responses API would accept', () => {
  test.each<[string, JsonObject]>([
    ['input as text', { input: 'hi' }],
    ['calls and their outputs', say(user, call('a'), call('b'), output('b'), output('a'), user)],
    ['references to stored items', say(user, reference('rs_1'), reference('msg_1'), user)],
    ['reasoning before its call', say(user, reference('rs_1'), call('a', { id: 'fc_1' }), output('a'))],
    ['encrypted reasoning', say(user, reasoning, { role: 'assistant', content: [] }, user)],
    ['an output for a call of the previous response', { previous_response_id: 'resp_1', ...say(output('a')) }],
  ])('%s', (_, change) => expect(judge(change)).toBeUndefined())
})

describe('a request that the Responses API would refuse', () => {
  test.each<[string, JsonObject, string]>([
    ['no model', { model: '' }, "'model'"],
    ['no input', { input: undefined }, "'input'"],
    ['a call without an output', say(user, call('a'), user), 'No tool output found for function call a.'],
    ['an output without a call', say(user, output('a')), 'No tool call found for function call output with call_id a.'],
    ['an output before its call', say(user, output('a'), call('a')), 'No tool call found'],
    ['a reference to nothing', say(user, reference('msg_7')), "Item with id 'msg_7' not found"],
    ['a reference to what was not stored', say(user, reference('msg_2')), "Item with id 'msg_2' not found"],
    ['reasoning alone', say(user, reference('rs_1')), "'reasoning' was provided without its required following item"],
    ['reasoning before the user', say(user, reference('rs_1'), user), 'without its required following item'],
    [
      'a call without its reasoning',
      say(user, call('a', { id: 'fc_1' }), output('a')),
      "its required 'reasoning' item: 'rs_1'",
    ],
    [
      'forged reasoning',
      say(user, { ...reasoning, encrypted_content: 'x' }, call('a'), output('a')),
      'could not be verified',
    ],
    ['the same item twice', say(user, reference('rs_1'), reference('msg_1'), reference('msg_1')), 'Duplicate item'],
    ['an unknown response', { previous_response_id: 'resp_7' }, "'resp_7' not found"],
    ['a tool name with a dot', { tools: [{ type: 'function', name: 'a.b' }] }, "Invalid 'tools[0].name'"],
  ])('%s', (_, change, words) => {
    const rejection = judge(change)
    expect(rejection?.status).toBe(400)
    expect(rejection?.message).toContain(words)
  })

  test('no key', () => expect(judge({}, {})?.status).toBe(401))
})
