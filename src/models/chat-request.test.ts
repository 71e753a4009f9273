import { describe, expect, it } from 'vitest'
import { parseAnyJson } from '../base/json.ts'
import type { ModelRequest } from './model.ts'
import { toChatRequest } from './openai-chat.ts'
import { type ModelSettings, modelInfo } from './provider-connection.ts'

const schema = { type: 'object', properties: { place: { type: 'string' } } }

const request: ModelRequest = {
  system: [
    { name: 'soul', layer: 'stable', text: 'One' },
    { name: 'empty', layer: 'stable', text: ' ' },
    { name: 'memory', layer: 'semi_stable', text: 'Two' },
  ],
  messages: [
    {
      role: 'user',
      parts: [
        { type: 'text', text: 'What is this?' },
        { type: 'media', hash: 'h', mediaType: 'image/png', name: 'cat.png', bytes: 3 },
      ],
    },
    {
      role: 'assistant',
      parts: [
        { type: 'thinking', text: 'Hm.', replay: { provider: 'mine', metadata: {} } },
        { type: 'thinking', text: 'Not mine.', replay: { provider: 'other', metadata: {} } },
        { type: 'tool_call', id: 'c1', name: 'look', input: { place: 'Oslo' } },
        { type: 'tool_call', id: 'c2', name: 'look', input: '{"pl' },
      ],
    },
    { role: 'tool', results: [{ callId: 'c1', name: 'look', text: 'sunny', isError: false }] },
    { role: 'assistant', parts: [{ type: 'text', text: ' ' }] },
    { role: 'user', parts: [{ type: 'text', text: 'Thanks' }] },
  ],
  tools: [{ name: 'look', description: 'Looks', inputSchema: schema }],
  maxTokens: 500,
  loadMedia: async () => new Uint8Array([1, 2, 3]),
}

function write(settings: Partial<ModelSettings>, fields: Partial<ModelRequest> = {}): Promise<string> {
  const all = { model: 'm', ...settings }
  const context = { info: modelInfo('mine/main', all), providerName: 'mine', settings: all }
  return toChatRequest({ ...request, ...fields }, context)
}

describe('toChatRequest', () => {
  it('MODEL-2 MODEL-3 MODEL-5 has these exact bytes, with the conversation last', async () => {
    const settings = {
      supportsVision: true,
      temperature: 0.5,
      oneCallAtATime: true,
      thinkingTokens: 5_000,
      strictTools: true,
      maxTokens: 400,
    }
    const written = await write(settings)
    expect(written).toBe(await write(settings))
    expect(written).toBe(
      [
        '{"model":"m","max_tokens":400,"temperature":0.5,"parallel_tool_calls":false,"reasoning_effort":"medium",',
        '"tools":[{"type":"function","function":{"name":"look","description":"Looks","parameters":{"type":"object",',
        '"properties":{"place":{"type":["string","null"]}},"additionalProperties":false,"required":["place"]},',
        '"strict":true}}],"stream":true,"stream_options":{"include_usage":true},',
        '"messages":[{"role":"system","content":"One\\n\\nTwo"},',
        '{"role":"user","content":[{"type":"text","text":"What is this?"},',
        '{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}]},',
        '{"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[',
        '{"id":"c1","type":"function","function":{"name":"look","arguments":"{\\"place\\":\\"Oslo\\"}"}},',
        '{"id":"c2","type":"function","function":{"name":"look",',
        '"arguments":"{\\"invalid_arguments\\":\\"{\\\\\\"pl\\"}"}}]},',
        '{"role":"tool","tool_call_id":"c1","content":"sunny"},{"role":"user","content":"Thanks"}]}',
      ].join(''),
    )
  })

  it("CLIENT-5 closes a client's schema at every level, and asks for one call at a time", async () => {
    const inputSchema = {
      type: 'object',
      properties: { entry: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] } },
      required: ['entry'],
    }
    const tools = [{ name: 'save_memory', description: 'Saves', inputSchema }]
    const written = parseAnyJson(await write({ strictTools: true, oneCallAtATime: true }, { tools }))
    const entry = { ...inputSchema.properties.entry, additionalProperties: false }
    const parameters = { ...inputSchema, additionalProperties: false, properties: { entry } }
    expect(written).toMatchObject({
      value: { parallel_tool_calls: false, tools: [{ function: { strict: true, parameters } }] },
    })
  })

  it('MODEL-3 sends only what was requested', async () => {
    const body = JSON.parse(await write({}, { tools: [], system: [], messages: request.messages.slice(-1) }))
    expect(body).toEqual({
      model: 'm',
      max_tokens: 500,
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Thanks' }],
    })
    expect(JSON.parse(await write({ thinkingTokens: 0 }))).not.toHaveProperty('reasoning_effort')
  })
})
