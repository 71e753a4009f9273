import { describe, expect, test } from 'vitest'
import type { JsonObject } from './json.ts'
import { validateOpenaiChat } from './validate-openai-chat.ts'

const user = { role: 'user', content: 'hi' }
const call = (id: string, more: JsonObject = {}) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{}' },
  ...more,
})
const calls = (...tool_calls: unknown[]) => ({ role: 'assistant', content: null, tool_calls })
const result = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'ok' })
const tool = (name: string) => ({ type: 'function', function: { name, parameters: {} } })
const picture = (url: string) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })

function judge(change: JsonObject, headers: Record<string, string> = { authorization: 'Bearer key' }) {
  const body = { model: 'm', messages: [user], ...change }
  return validateOpenaiChat({ path: '/v1/chat/completions', headers, body })
}

const say = (...messages: unknown[]) => ({ messages })

describe('a request that Chat Completions would accept', () => {
  test.each<[string, JsonObject]>([
    [
      'a system message, and an empty user message',
      say({ role: 'system', content: 's' }, { role: 'user', content: '' }),
    ],
    ['a developer message', say({ role: 'developer', content: 's' }, user)],
    [
      'parallel calls answered in another order',
      say(user, calls(call('a'), call('b')), result('b'), result('a'), user),
    ],
    ['two rounds', say(user, calls(call('a')), result('a'), calls(call('b')), result('b'))],
    ['text beside calls', say(user, { ...calls(call('a')), content: 'wait' }, result('a'))],
    ['parts of text', say({ role: 'user', content: [{ type: 'text', text: 'hi' }] })],
    ['an image as data', say(picture('data:image/png;base64,AAAA'))],
    ['an image by address', say(picture('https://example.com/a.png'))],
    ['tools', { tools: [tool('a'), tool('B-2_c')] }],
  ])('%s', (_, change) => expect(judge(change)).toBeUndefined())
})

describe('a request that Chat Completions would refuse', () => {
  const unanswered = "must be followed by tool messages responding to each 'tool_call_id'"
  const orphan = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"

  test.each<[string, JsonObject, string]>([
    ['no model', { model: undefined }, 'you must provide a model parameter'],
    ['no messages', { messages: undefined }, "Missing required parameter: 'messages'"],
    ['an empty list', say(), "Invalid 'messages': empty array"],
    ['an unknown role', say({ role: 'model', content: 'hi' }), "Invalid value: 'model'"],
    ['no content', say({ role: 'user' }), 'expected a string, got null'],
    ['an assistant without content or calls', say(user, { role: 'assistant', content: null }), 'got null'],
    ['content that is no text', say({ role: 'user', content: 7 }), 'expected one of a string or array'],
    ['an empty list of parts', say({ role: 'user', content: [] }), "Invalid 'messages[0].content': empty array"],
    ['an unknown part', say({ role: 'user', content: [{ type: 'video' }] }), "Invalid value: 'video'"],
    [
      'an image in a result',
      say(user, calls(call('a')), { ...result('a'), content: picture('https://a').content }),
      'Image URLs',
    ],
    ['an image that is no base64', say(picture('data:image/png;base64,***')), 'Invalid base64 image_url'],
    ['an empty list of calls', say(user, calls()), 'got null'],
    ['an empty list of calls beside text', say(user, { ...calls(), content: 'x' }), "tool_calls': empty array"],
    ['calls by the user', say({ ...user, tool_calls: [call('a')] }), 'Unrecognized request argument'],
    ['a call without an id', say(user, calls(call('')), result('')), "'messages[1].tool_calls[0].id'"],
    ['an id too long', say(user, calls(call('a'.repeat(41))), result('a'.repeat(41))), 'maximum length 40'],
    [
      'arguments that are no text',
      say(user, calls(call('a', { function: { name: 'r', arguments: {} } }))),
      'expected a string',
    ],
    [
      'a call at the end',
      say(user, calls(call('a'))),
      `${unanswered}. The following tool_call_ids did not have response messages: a`,
    ],
    ['one of two calls unanswered', say(user, calls(call('a'), call('b')), result('a'), user), 'response messages: b'],
    ['a message between call and result', say(user, calls(call('a')), user, result('a')), unanswered],
    ['a result without a call', say(user, result('a')), orphan],
    ['a result for another call', say(user, calls(call('a')), result('z')), orphan],
    ['two results for one call', say(user, calls(call('a')), result('a'), result('a')), orphan],
    ['a late result', say(user, calls(call('a')), result('a'), user, result('a')), orphan],
    ['an empty list of tools', { tools: [] }, "Invalid 'tools': empty array"],
    [
      'a tool without a name',
      { tools: [{ type: 'function', function: {} }] },
      "Missing required parameter: 'tools[0].function.name'",
    ],
    ['a part without its text', say({ role: 'user', content: [{ type: 'text' }] }), "'messages[0].content[0].text'"],
    ['a call without a type', say(user, calls(call('a', { type: undefined })), result('a')), "tool_calls[0].type'"],
    [
      'a call of nothing',
      say(user, calls(call('a', { function: { arguments: '{}' } })), result('a')),
      "function.name'",
    ],
    ['a tool name with a dot', { tools: [tool('a.b')] }, 'does not match pattern'],
    ['a tool name too long', { tools: [tool('a'.repeat(65))] }, 'maximum length 64'],
    ['two tools of one name', { tools: [tool('a'), tool('a')] }, 'must be unique'],
  ])('%s', (_, change, words) => {
    const rejection = judge(change)
    expect(rejection?.status).toBe(400)
    expect(rejection?.message).toContain(words)
  })

  test('no key', () => expect(judge({}, {})?.status).toBe(401))
})
