import { describe, expect, it } from 'vitest'
import { createScriptedModel, type ScriptedReply } from '../../test/support/scripted-model.ts'
import { createRedactor } from '../security/redactor.ts'
import { type LanguageModel, ModelError, type ModelRequest, type ModelStreamEvent } from './model.ts'
import { redactModels } from './watch-models.ts'

const secret = 'sk-canary-0123456789'

function redacting(model: LanguageModel): LanguageModel {
  const models = { route: () => [model], byId: () => model, list: () => [model] }
  const redacted = redactModels(models, createRedactor([secret]))
  const [first] = redacted.route('primary')
  if (!first) throw new Error('No model')
  expect(redacted.byId('x')).toBe(first)
  expect(redacted.list()).toEqual([first])
  return first
}

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: [],
  messages: [],
  tools: [],
  maxTokens: 10,
  loadMedia: async () => Buffer.from(`a file with ${secret}`),
  ...more,
})

async function eventsOf(model: LanguageModel, asked = request()): Promise<ModelStreamEvent[]> {
  return Array.fromAsync(redacting(model).stream(asked, new AbortController().signal))
}

const scripted = (reply: ScriptedReply) => createScriptedModel({ script: [reply] })

describe('redactModels', () => {
  it('SEC-13 sends no secret, wherever in the request it is', async () => {
    const model = scripted({ text: 'Fine.' })
    await eventsOf(
      model,
      request({
        system: [{ name: 'soul', layer: 'stable', text: `Know ${secret}` }],
        messages: [
          { role: 'user', parts: [{ type: 'text', text: secret }] },
          { role: 'assistant', parts: [{ type: 'tool_call', id: '1', name: 'a', input: { key: [secret] } }] },
          { role: 'tool', results: [{ callId: '1', name: 'a', text: secret, isError: false }] },
        ],
        tools: [{ name: 'a', description: secret, inputSchema: { type: 'object' } }],
      }),
    )
    const [sent] = model.requests
    expect(JSON.stringify(sent)).not.toContain('0123456789')
    expect(sent?.system[0]?.text).toBe('Know [redacted]')
    expect(Buffer.from((await sent?.loadMedia('x')) ?? []).toString()).toBe('a file with [redacted]')
  })

  it('SEC-13 outputs no secret, however it is split', async () => {
    const said = `It is ${secret}.`
    const events = await eventsOf(scripted({ text: said, thinking: `Hm, ${secret}`, deltaLength: 3 }))
    const joined = (type: string) =>
      events.flatMap((event) => (event.type === type && 'text' in event ? [event.text] : [])).join('')
    expect(joined('text_delta')).toBe('It is [redacted].')
    expect(joined('thinking_delta')).toBe('Hm, [redacted]')
    expect(events.at(-1)).toMatchObject({
      response: { parts: [{ text: 'Hm, [redacted]' }, { text: 'It is [redacted].' }] },
    })
    // Held-back thinking is output before the first word of the reply.
    const types = events.map(({ type }) => type)
    expect(types.lastIndexOf('thinking_delta')).toBeLessThan(types.indexOf('text_delta'))
  })

  it('SEC-13 does not send back signed thinking that was changed', async () => {
    const thoughts = async (thinking: string) => {
      const events = await eventsOf(scripted({ text: 'Yes.', thinking }))
      const last = events.at(-1)
      return last?.type === 'finished' ? last.response.parts[0] : undefined
    }
    expect(await thoughts('nothing')).toHaveProperty('replay')
    expect(await thoughts(secret)).not.toHaveProperty('replay')
  })

  it('SEC-13 removes a key from an error message, and outputs the text before it', async () => {
    const error = new ModelError('rejected', `Incorrect API key: ${secret}`, { retryable: false, status: 401 })
    const told: ModelStreamEvent[] = []
    const failing = async () => {
      const stream = redacting(scripted({ text: 'Well, sk-', error })).stream(request(), new AbortController().signal)
      for await (const event of stream) told.push(event)
    }
    await expect(failing()).rejects.toMatchObject({ message: 'Incorrect API key: [redacted]', status: 401 })
    expect(told.map((event) => ('text' in event ? event.text : '')).join('')).toBe('Well, sk-')
  })

  it('passes on everything without secrets unchanged', async () => {
    const model = scripted({ text: 'Fine.', toolCalls: [{ name: 'a', input: { b: 1 } }] })
    const messages: ModelRequest['messages'] = [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }]
    const events = await eventsOf(model, request({ messages }))
    expect(model.requests[0]?.messages).toEqual(messages)
    expect(events.at(-1)).toMatchObject({ type: 'finished', response: { stopReason: 'tool_use' } })
  })
})
