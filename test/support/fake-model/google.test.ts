import { createGoogle } from '@ai-sdk/google'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { collectStream } from './collect-stream.ts'
import { apiError, describeProvider, TOOLS, userSays } from './provider-contract.ts'
import { startFakeModel } from './start-fake-model.ts'

const createModel = (url: string) => createGoogle({ baseURL: `${url}/v1beta`, apiKey: 'key' })('gemini-3-pro-preview')

describeProvider({ name: '@ai-sdk/google', wire: 'google', createModel, reportsCacheWrite: false })

describe('thought signatures on the Google wire', () => {
  const replay = (thoughtSignature: string): LanguageModelV4Prompt => [
    userSays('go'),
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          toolCallId: 'call_1',
          toolName: 'read',
          input: {},
          providerOptions: { google: { thoughtSignature } },
        },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'call_1', toolName: 'read', output: { type: 'text', value: 'done' } },
      ],
    },
  ]

  test('ride on the first tool call, come back, and are known again', async () => {
    const server = await startFakeModel()
    const model = createModel(server.url)
    server.reply({ thinking: { text: 'hm', signature: 'c2ln' }, toolCalls: [{ name: 'read' }, { name: 'search' }] })
    const { reasoning, toolCalls } = await collectStream(model, { prompt: [userSays('go')], tools: TOOLS })
    expect(reasoning).toEqual([{ text: 'hm', providerMetadata: {} }])
    expect(toolCalls.map(({ providerMetadata }) => providerMetadata)).toEqual([
      { google: { thoughtSignature: 'c2ln' } },
      undefined,
    ])
    const known = await collectStream(model, { prompt: replay('c2ln'), tools: TOOLS })
    const forged = await collectStream(model, { prompt: replay('Zm9yZ2Vk'), tools: TOOLS })
    expect(known.text).toBe('echo: go')
    expect(apiError(forged.thrown).message).toBe('Corrupted thought signature.')
    await server.close()
  })

  test('ride on an empty text at the end when there is no call', async () => {
    const server = await startFakeModel({ script: { thinking: { text: 'hm', signature: 'c2ln' }, text: 'done' } })
    const { parts, text } = await collectStream(createModel(server.url), { prompt: [userSays('go')] })
    expect(text).toBe('done')
    expect(parts.filter(({ type }) => type === 'text-delta').at(-1)).toMatchObject({
      delta: '',
      providerMetadata: { google: { thoughtSignature: 'c2ln' } },
    })
    await server.close()
  })
})
