import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { type CollectedStream, collectStream } from './collect-stream.ts'
import { apiError, describeProvider, TOOLS, userSays } from './provider-contract.ts'
import { type FakeModel, startFakeModel } from './start-fake-model.ts'

const createModel = (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'key' })('gpt-5')

describeProvider({ name: '@ai-sdk/openai', wire: 'openai-responses', createModel, reportsCacheWrite: true })

describe('reasoning on the Responses wire', () => {
  const stored: Partial<LanguageModelV4CallOptions> = { tools: TOOLS }
  const unstored: Partial<LanguageModelV4CallOptions> = { tools: TOOLS, providerOptions: { openai: { store: false } } }

  async function reason(server: FakeModel, options: Partial<LanguageModelV4CallOptions>): Promise<CollectedStream> {
    server.reply({ thinking: { text: 'hm', signature: 'ZW5j' }, text: 'Reading.', toolCalls: [{ name: 'read' }] })
    return collectStream(createModel(server.url), { ...options, prompt: [userSays('go')] })
  }

  function replay({ parts, reasoning, toolCalls }: CollectedStream): LanguageModelV4Prompt {
    const end = parts.find((part) => part.type === 'text-end')
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
          { type: 'text', text: 'Reading.', providerOptions: end?.providerMetadata ?? {} },
          ...toolCalls.map(({ toolCallId, toolName, providerMetadata }) => ({
            type: 'tool-call' as const,
            toolCallId,
            toolName,
            input: {},
            providerOptions: providerMetadata ?? {},
          })),
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'call_1', toolName: 'read', output: { type: 'text', value: 'done' } },
        ],
      },
    ]
  }

  test('with the default store, items come back as references', async () => {
    const server = await startFakeModel()
    const { text, thrown } = await collectStream(createModel(server.url), {
      ...stored,
      prompt: replay(await reason(server, stored)),
    })
    expect(thrown).toBeUndefined()
    expect(text).toBe('echo: go')
    expect(server.requests[1]?.body.input).toMatchObject([
      { role: 'user' },
      { type: 'item_reference', id: 'rs_1_0' },
      { type: 'item_reference', id: 'msg_1_1' },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1' },
    ])
    await server.close()
  })

  test('without a store, the encrypted content comes back', async () => {
    const server = await startFakeModel()
    const first = await reason(server, unstored)
    expect(first.reasoning[0]?.providerMetadata).toMatchObject({
      openai: { itemId: 'rs_1_0', reasoningEncryptedContent: 'ZW5j' },
    })
    const { thrown } = await collectStream(createModel(server.url), { ...unstored, prompt: replay(first) })
    expect(thrown).toBeUndefined()
    expect(server.requests[1]?.body.input).toMatchObject([
      {},
      { type: 'reasoning', id: 'rs_1_0', encrypted_content: 'ZW5j', summary: [{ type: 'summary_text', text: 'hm' }] },
      { role: 'assistant' },
      { type: 'function_call' },
      { type: 'function_call_output' },
    ])
    await server.close()
  })

  test('forged encrypted content is refused', async () => {
    const server = await startFakeModel()
    const first = await reason(server, unstored)
    const reasoning = first.reasoning.map(({ text }) => ({
      text,
      providerMetadata: { openai: { itemId: 'rs_1_0', reasoningEncryptedContent: 'Zm9yZ2Vk' } },
    }))
    const { thrown } = await collectStream(createModel(server.url), {
      ...unstored,
      prompt: replay({ ...first, reasoning }),
    })
    expect(apiError(thrown).message).toContain('could not be verified')
    await server.close()
  })
})
