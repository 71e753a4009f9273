import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CollectedStream, collectStream } from './collect-stream.ts'
import { apiError, describeProvider, TOOLS, userSays } from './provider-contract.ts'
import { type FakeModel, startFakeModel } from './start-fake-model.ts'

const createModel = (url: string) => createAnthropic({ baseURL: `${url}/v1`, apiKey: 'key' })('fake-model')

describeProvider({ name: '@ai-sdk/anthropic', wire: 'anthropic', createModel, reportsCacheWrite: true })

describe('thinking on the Anthropic wire', () => {
  let server: FakeModel
  let model: LanguageModelV4
  beforeEach(async () => {
    server = await startFakeModel()
    model = createModel(server.url)
  })
  afterEach(() => server.close())

  const thinkingOn = {
    maxOutputTokens: 4000,
    providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
    tools: TOOLS,
  }

  async function think(): Promise<CollectedStream> {
    server.reply({
      thinking: { text: 'I should read “it” 🐈.', signature: 'c2lnbmVk' },
      redactedThinking: 'cmVkYWN0ZWQ=',
      text: 'Reading.',
      toolCalls: [{ name: 'read', input: { what: 'it' } }],
      chunkSize: 5,
    })
    return collectStream(model, { ...thinkingOn, prompt: [userSays('go')] })
  }

  function replay(reasoning: CollectedStream['reasoning']): LanguageModelV4Prompt {
    return [
      userSays('go'),
      {
        role: 'assistant',
        content: [
          ...reasoning.map(({ text, providerMetadata }) => ({
            type: 'reasoning' as const,
            text,
            providerOptions: providerMetadata,
          })),
          { type: 'text', text: 'Reading.' },
          { type: 'tool-call', toolCallId: 'toolu_1', toolName: 'read', input: { what: 'it' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'toolu_1', toolName: 'read', output: { type: 'text', value: 'done' } },
        ],
      },
    ]
  }

  test('carries its signature in the metadata of an empty delta and redacted data in that of the start', async () => {
    const { reasoning } = await think()
    expect(reasoning).toEqual([
      { text: 'I should read “it” 🐈.', providerMetadata: { anthropic: { signature: 'c2lnbmVk' } } },
      { text: '', providerMetadata: { anthropic: { redactedData: 'cmVkYWN0ZWQ=' } } },
    ])
  })

  test('is accepted when it comes back byte for byte', async () => {
    const { reasoning } = await think()
    const { thrown, text } = await collectStream(model, { ...thinkingOn, prompt: replay(reasoning) })
    expect(thrown).toBeUndefined()
    expect(text).toBe('echo: go')
    expect(server.requests[1]?.body.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'I should read “it” 🐈.', signature: 'c2lnbmVk' },
          { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
          { type: 'text' },
          { type: 'tool_use' },
        ],
      },
      {},
    ])
  })

  test.each([
    ['its text changed', 0, { text: 'I should read it.' }, 'cannot be modified'],
    ['its signature changed', 0, { providerMetadata: { anthropic: { signature: 'Zm9yZ2Vk' } } }, 'Invalid `signature`'],
    ['its redacted data changed', 1, { providerMetadata: { anthropic: { redactedData: 'b3RoZXI=' } } }, 'be modified'],
  ])('is refused with %s', async (_, index, change, words) => {
    const { reasoning } = await think()
    const tampered = reasoning.map((block, position) => (position === index ? { ...block, ...change } : block))
    const { thrown } = await collectStream(model, { ...thinkingOn, prompt: replay(tampered) })
    expect(apiError(thrown).statusCode).toBe(400)
    expect(apiError(thrown).message).toContain(words)
  })

  test('is missed inside a tool loop, unless thinking is off', async () => {
    await think()
    const enabled = await collectStream(model, { ...thinkingOn, prompt: replay([]) })
    const disabled = await collectStream(model, { prompt: replay([]), tools: TOOLS })
    expect(apiError(enabled.thrown).message).toContain('Expected `thinking` or `redacted_thinking`')
    expect(disabled.thrown).toBeUndefined()
  })

  test('is refused when another provider issued it', async () => {
    server.reply({ thinking: { text: 'hm', signature: 'Z2VtaW5p' }, toolCalls: [{ name: 'read' }] })
    const gemini = createGoogle({ baseURL: `${server.url}/v1beta`, apiKey: 'key' })('gemini-3-pro-preview')
    const { toolCalls } = await collectStream(gemini, { prompt: [userSays('go')], tools: TOOLS })
    expect(toolCalls[0]?.providerMetadata).toEqual({ google: { thoughtSignature: 'Z2VtaW5p' } })
    const carried = [{ text: 'hm', providerMetadata: { anthropic: { signature: 'Z2VtaW5p' } } }]
    const { thrown } = await collectStream(model, { ...thinkingOn, prompt: replay(carried) })
    expect(apiError(thrown).message).toContain('Invalid `signature`')
  })

  test('comes whole without a stream', async () => {
    server.reply({ thinking: { text: 'hm', signature: 's' }, redactedThinking: 'r', text: 'ok' })
    const { content } = await model.doGenerate({ ...thinkingOn, prompt: [userSays('go')] })
    expect(content).toEqual([
      { type: 'reasoning', text: 'hm', providerMetadata: { anthropic: { signature: 's' } } },
      { type: 'reasoning', text: '', providerMetadata: { anthropic: { redactedData: 'r' } } },
      { type: 'text', text: 'ok' },
    ])
  })
})

describe('the Anthropic wire', () => {
  test('sends the same events as the Messages API', async () => {
    const server = await startFakeModel({
      script: {
        thinking: { text: 'hm', signature: 'sig' },
        text: 'Hello',
        toolCalls: [{ id: 'toolu_x', name: 'read', input: { a: 1 } }],
        usage: { input: 9, output: 4, cacheRead: 2, cacheWrite: 1 },
      },
    })
    const response = await fetch(`${server.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({
        model: 'm',
        max_tokens: 10,
        stream: true,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    })
    expect(await response.text()).toMatchInlineSnapshot(`
      "event: message_start
      data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":1}}}

      event: content_block_start
      data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

      event: ping
      data: {"type":"ping"}

      event: content_block_delta
      data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

      event: content_block_delta
      data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

      event: content_block_stop
      data: {"type":"content_block_stop","index":0}

      event: content_block_start
      data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

      event: content_block_delta
      data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}

      event: content_block_stop
      data: {"type":"content_block_stop","index":1}

      event: content_block_start
      data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_x","name":"read","input":{}}}

      event: content_block_delta
      data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

      event: content_block_delta
      data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":1}"}}

      event: content_block_stop
      data: {"type":"content_block_stop","index":2}

      event: message_delta
      data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":9,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":4}}

      event: message_stop
      data: {"type":"message_stop"}

      "
    `)
    await server.close()
  })

  test('an overload before the first event is thrown as a 529', async () => {
    const server = await startFakeModel({ script: { text: 'never', errorEventAfterChunks: 0 } })
    const { thrown } = await collectStream(createModel(server.url), { prompt: [userSays('hi')] })
    expect(apiError(thrown)).toMatchObject({ statusCode: 529, isRetryable: true })
    await server.close()
  })
})
