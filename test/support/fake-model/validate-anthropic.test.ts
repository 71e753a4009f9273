import { describe, expect, test } from 'vitest'
import { createIssued, issueThinking } from './issued.ts'
import type { JsonObject } from './json.ts'
import { validateAnthropic } from './validate-anthropic.ts'

const HEADERS = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' }
const issued = createIssued()
issueThinking(issued, { text: 'I wonder', signature: 'sig' })
issueThinking(issued, { text: '', signature: 'omitted' })
issued.redactedThinking.add('red')
issued.toolCallsAfterThinking.add('toolu_thought')

const CACHED = { type: 'ephemeral' }
const CACHED_LONG = { type: 'ephemeral', ttl: '1h' }
const THINKING_ON = { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 }

const user = (...content: unknown[]) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const text = (value: string, more: JsonObject = {}) => ({ type: 'text', text: value, ...more })
const use = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'read', input })
const result = (id: string, content: unknown = 'ok') => ({ type: 'tool_result', tool_use_id: id, content })
const thought = (thinking: string, signature: string) => ({ type: 'thinking', thinking, signature })
const image = (media_type: string, data: string) => ({ type: 'image', source: { type: 'base64', media_type, data } })
const tool = (name: string, more: JsonObject = {}) => ({ name, input_schema: { type: 'object' }, ...more })

function judge(change: JsonObject, headers: Record<string, string> = HEADERS): string | undefined {
  const body = { model: 'm', max_tokens: 100, messages: [user(text('hi'))], ...change }
  return validateAnthropic({ path: '/v1/messages', headers, body }, issued)?.message
}

const say = (...messages: unknown[]) => ({ messages })

describe('a request that Anthropic would accept', () => {
  test.each<[string, JsonObject]>([
    ['content as plain text', say({ role: 'user', content: 'hi' })],
    ['two user messages in a row', say(user(text('one')), user(text('two')))],
    [
      'two assistant messages in a row',
      say(user(text('go')), assistant(text('a')), assistant(text('b')), user(text('c'))),
    ],
    ['a prefill', say(user(text('go')), assistant(text('Sure,')))],
    ['an empty prefill', say(user(text('go')), { role: 'assistant', content: '' })],
    [
      'parallel tools answered in another order',
      say(user(text('go')), assistant(use('a'), use('b')), user(result('b'), result('a'))),
    ],
    ['text after the results', say(user(text('go')), assistant(use('a')), user(result('a'), text('and now?')))],
    ['an empty result', say(user(text('go')), assistant(use('a')), user(result('a', '')))],
    [
      'a result without content',
      say(user(text('go')), assistant(use('a')), user({ type: 'tool_result', tool_use_id: 'a' })),
    ],
    [
      'an image in a result',
      say(user(text('go')), assistant(use('a')), user(result('a', [image('image/png', 'AAAA')]))),
    ],
    ['an image', say(user(image('image/webp', 'AAAA'), text('?')))],
    ['an image by address', say(user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }))],
    ['issued thinking', say(user(text('go')), assistant(thought('I wonder', 'sig'), text('so')), user(text('on')))],
    [
      'thinking whose text was omitted',
      say(user(text('go')), assistant(thought('', 'omitted'), text('so')), user(text('on'))),
    ],
    [
      'issued redacted thinking',
      say(user(text('go')), assistant({ type: 'redacted_thinking', data: 'red' }, text('so')), user(text('on'))),
    ],
    [
      'thinking kept in a tool loop',
      {
        ...THINKING_ON,
        ...say(
          user(text('go')),
          assistant(thought('I wonder', 'sig'), use('toolu_thought')),
          user(result('toolu_thought')),
        ),
      },
    ],
    [
      'a tool loop that never thought, with thinking on',
      { ...THINKING_ON, ...say(user(text('go')), assistant(use('a')), user(result('a'))) },
    ],
    [
      'four breakpoints',
      {
        system: [text('s', { cache_control: CACHED })],
        ...say(user(...Array(3).fill(text('t', { cache_control: CACHED })))),
      },
    ],
    [
      'the long cache before the short',
      { system: [text('s', { cache_control: CACHED_LONG })], ...say(user(text('t', { cache_control: CACHED }))) },
    ],
    ['system as text', { system: '' }],
    ['tools', { tools: [tool('a'), tool('B-2_c')] }],
    ["the provider's own tool", { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ])('%s', (_, change) => expect(judge(change)).toBeUndefined())

  test('a bearer token instead of a key', () => {
    expect(judge({}, { authorization: 'Bearer t', 'anthropic-version': '2023-06-01' })).toBeUndefined()
  })
})

describe('a request that Anthropic would refuse', () => {
  test.each<[string, JsonObject, string]>([
    ['no model', { model: undefined }, 'model: Field required'],
    ['no max_tokens', { max_tokens: undefined }, 'max_tokens: Field required'],
    ['max_tokens of zero', { max_tokens: 0 }, 'greater than or equal to 1'],
    [
      'a thinking budget over max_tokens',
      { ...THINKING_ON, max_tokens: 1024 },
      'must be greater than `thinking.budget_tokens`',
    ],
    [
      'a thinking budget too small',
      { ...THINKING_ON, thinking: { type: 'enabled', budget_tokens: 10 } },
      'greater than or equal to 1024',
    ],
    ['no messages', { messages: undefined }, 'messages: Field required'],
    ['an empty list', say(), 'at least one message is required'],
    ['the assistant first', say(assistant(text('hi'))), 'first message must use the "user" role'],
    ['a system message', say(user(text('hi')), { role: 'system', content: 'be nice' }), 'Unexpected role "system"'],
    [
      'an empty message',
      say(user(text('hi')), { role: 'user', content: '' }),
      'messages.1: all messages must have non-empty content',
    ],
    ['an empty list of blocks', say(user()), 'messages.0: all messages must have non-empty content'],
    [
      'an empty assistant message in the middle',
      say(user(text('a')), assistant(), user(text('b'))),
      'non-empty content',
    ],
    ['an empty text', say(user(text('hi'), text(''))), 'text content blocks must be non-empty'],
    ['only whitespace', say(user(text(' \n\t'))), 'must contain non-whitespace text'],
    ['only whitespace as plain content', say({ role: 'user', content: '  ' }), 'must contain non-whitespace text'],
    [
      'an empty text in a result',
      say(user(text('go')), assistant(use('a')), user(result('a', [text('')]))),
      'must be non-empty',
    ],
    ['an empty system block', { system: [text('')] }, 'system: text content blocks must be non-empty'],
    ['an unknown block', say(user({ type: 'video' })), "Input tag 'video'"],
    ['a prefill that ends in a space', say(user(text('go')), assistant(text('Sure, '))), 'trailing whitespace'],
    [
      'a prefill with thinking on',
      { ...THINKING_ON, ...say(user(text('go')), assistant(text('Sure'))) },
      'Expected `thinking`',
    ],
    [
      'a prefill of thinking',
      say(user(text('go')), assistant(thought('I wonder', 'sig'), text('so'))),
      'When thinking is disabled',
    ],

    [
      'a call at the end',
      say(user(text('go')), assistant(use('a'))),
      '`tool_use` ids were found without `tool_result` blocks immediately after: a.',
    ],
    ['a call answered by text', say(user(text('go')), assistant(use('a')), user(text('no'))), 'immediately after: a.'],
    [
      'one of two calls unanswered',
      say(user(text('go')), assistant(use('a'), use('b')), user(result('a'))),
      'immediately after: b.',
    ],
    [
      'results in two messages',
      say(user(text('go')), assistant(use('a'), use('b')), user(result('a')), user(result('b'))),
      'immediately after: b.',
    ],
    [
      'text before the result',
      say(user(text('go')), assistant(use('a')), user(text('well'), result('a'))),
      'immediately after: a.',
    ],
    [
      'a result two messages later',
      say(user(text('go')), assistant(use('a')), assistant(text('hm')), user(result('a'))),
      'immediately after: a.',
    ],
    ['a result without a call', say(user(result('a'))), 'unexpected `tool_use_id` found in `tool_result` blocks: a.'],
    [
      'a result for another call',
      say(user(text('go')), assistant(use('a')), user(result('a'), result('z'))),
      'blocks: z.',
    ],
    [
      'two results for one call',
      say(user(text('go')), assistant(use('a')), user(result('a'), result('a'))),
      'must have a single result',
    ],
    [
      'an id used twice',
      say(user(text('go')), assistant(use('a')), user(result('a')), assistant(use('a')), user(result('a'))),
      '`tool_use` ids must be unique',
    ],
    [
      'a strange id',
      say(user(text('go')), assistant(use('a:b')), user(result('a:b'))),
      'tool_use.id: String should match pattern',
    ],
    [
      'arguments that are no object',
      say(user(text('go')), assistant(use('a', '{}')), user(result('a'))),
      'Input should be a valid dictionary',
    ],
    ['a call by the user', say(user(use('a'))), 'can only be in `assistant` messages'],
    ['a result by the assistant', say(user(text('go')), assistant(result('a'))), 'can only be in `user` messages'],

    [
      'unknown signature',
      say(user(text('go')), assistant(thought('I wonder', 'other'), text('so')), user(text('on'))),
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    ],
    [
      'changed thinking',
      say(user(text('go')), assistant(thought('I wonder!', 'sig'), text('so')), user(text('on'))),
      'cannot be modified',
    ],
    [
      'thinking without a signature',
      say(user(text('go')), assistant({ type: 'thinking', thinking: 'I wonder' }, text('so')), user(text('on'))),
      'Invalid `signature`',
    ],
    [
      'changed redacted thinking',
      say(user(text('go')), assistant({ type: 'redacted_thinking', data: 'blue' }, text('so')), user(text('on'))),
      'cannot be modified',
    ],
    [
      'thinking at the end of a message',
      say(user(text('go')), assistant(thought('I wonder', 'sig')), user(text('on'))),
      'messages.1: The final block in an assistant message cannot be `thinking`.',
    ],
    ['thinking by the user', say(user(thought('I wonder', 'sig'))), 'can only be in `assistant` messages'],
    [
      'a breakpoint on thinking',
      say(
        user(text('go')),
        assistant({ ...thought('I wonder', 'sig'), cache_control: CACHED }, text('so')),
        user(text('on')),
      ),
      'Extra inputs are not permitted',
    ],
    [
      'thinking dropped in a tool loop',
      { ...THINKING_ON, ...say(user(text('go')), assistant(use('toolu_thought')), user(result('toolu_thought'))) },
      'Expected `thinking` or `redacted_thinking`, but found `tool_use`',
    ],

    [
      'five breakpoints',
      {
        tools: [tool('a', { cache_control: CACHED })],
        system: [text('s', { cache_control: CACHED })],
        ...say(user(...Array(3).fill(text('t', { cache_control: CACHED })))),
      },
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    ],
    [
      'the long cache after the short',
      { system: [text('s', { cache_control: CACHED })], ...say(user(text('t', { cache_control: CACHED_LONG }))) },
      "must not come after a ttl='5m'",
    ],
    ['two tools of one name', { tools: [tool('a'), tool('a')] }, 'Tool names must be unique'],
    ['a tool name with a dot', { tools: [tool('a.b')] }, 'tools.0.custom.name: String should match pattern'],
    ['a tool name too long', { tools: [tool('a'.repeat(129))] }, 'tools.0.custom.name'],
    ['a tool without a schema', { tools: [{ name: 'a' }] }, 'input_schema: Field required'],
    ['a schema that is no object', { tools: [tool('a', { input_schema: { type: 'string' } })] }, 'input_schema.type'],
    ['an image of a strange type', say(user(image('image/bmp', 'AAAA'))), 'media_type: Input should be one of'],
    [
      'an image by the assistant',
      say(user(text('go')), assistant(image('image/png', 'AAAA'))),
      'blocks are not permitted',
    ],
    ['an image of nothing', say(user({ type: 'image', source: { type: 'url' } })), 'image.source: Field required'],
    [
      'a call of nothing',
      say(user(text('go')), assistant({ ...use('a'), name: '' }), user(result('a'))),
      'tool_use.name: Field required',
    ],
    ['a result of nothing', say(user({ type: 'tool_result' })), 'tool_result.tool_use_id: Field required'],
    ['max_tokens as text', { max_tokens: '100' }, 'max_tokens: Input should be a valid integer'],
    ['thinking without a budget', { ...THINKING_ON, thinking: { type: 'enabled' } }, 'budget_tokens: Field required'],
    ['system as an object', { system: text('s') }, 'system: Input should be a valid list'],
    [
      'only whitespace in system',
      { system: [text(' ')] },
      'system: text content blocks must contain non-whitespace text',
    ],
    ['an image that is no base64', say(user(image('image/png', 'data:image/png'))), 'invalid base64 data'],
  ])('%s', (_, change, words) => expect(judge(change)).toContain(words))

  test('no key and no version', () => {
    expect(judge({}, { 'anthropic-version': '2023-06-01' })).toBe('x-api-key header is required')
    expect(judge({}, { 'x-api-key': 'key' })).toBe('anthropic-version: header is required')
  })
})
