import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, test } from 'vitest'
import { collectStream } from './collect-stream.ts'
import { describeProvider, userSays } from './provider-contract.ts'
import { startFakeModel } from './start-fake-model.ts'

const createCompatible = (url: string, includeUsage = true) =>
  createOpenAICompatible({ name: 'local', baseURL: `${url}/v1`, apiKey: 'key', includeUsage })('fake-model')

describeProvider({
  name: '@ai-sdk/openai .chat',
  wire: 'openai-chat',
  createModel: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'key' }).chat('fake-model'),
  reportsCacheWrite: true,
})

describeProvider({
  name: '@ai-sdk/openai-compatible',
  wire: 'openai-chat',
  createModel: createCompatible,
  reportsCacheWrite: false,
})

describe('the Chat Completions wire', () => {
  test('reasoning comes as reasoning_content and goes back the same way', async () => {
    const server = await startFakeModel({ script: [{ thinking: { text: 'let me see' }, text: 'ok', chunkSize: 4 }] })
    const model = createCompatible(server.url)
    const { reasoning } = await collectStream(model, { prompt: [userSays('hi')] })
    expect(reasoning.map(({ text }) => text)).toEqual(['let me see'])
    await collectStream(model, {
      prompt: [
        userSays('hi'),
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'let me see' },
            { type: 'text', text: 'ok' },
          ],
        },
        userSays('and?'),
      ],
    })
    expect(server.requests[1]?.body.messages).toMatchObject([
      {},
      { reasoning_content: 'let me see', content: 'ok' },
      {},
    ])
    await server.close()
  })

  test('usage is sent only to those who ask', async () => {
    const server = await startFakeModel()
    const { finish } = await collectStream(createCompatible(server.url, false), { prompt: [userSays('hi')] })
    expect(finish?.usage.inputTokens.total).toBeUndefined()
    await server.close()
  })

  test('sends the same chunks as the API', async () => {
    const server = await startFakeModel({
      now: () => 1_700_000_000_000,
      script: {
        text: 'Hello',
        toolCalls: [
          { id: 'call_x', name: 'read', input: { a: 1 } },
          { id: 'call_y', name: 'search', input: {} },
        ],
        usage: { input: 9, output: 4, cacheRead: 2, cacheWrite: 1 },
      },
    })
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer key' },
      body: JSON.stringify({
        model: 'm',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'hi' }],
      }),
    })
    expect(await response.text()).toMatchInlineSnapshot(`
      "data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}],"usage":null}

      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_x","type":"function","function":{"name":"read","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}

      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\\"a\\":1}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_y","type":"function","function":{"name":"search","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}

      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}

      data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},"completion_tokens_details":{"reasoning_tokens":0}}}

      data: [DONE]

      "
    `)
    await server.close()
  })
})
