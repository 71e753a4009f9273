import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelMessage } from '../../src/protocol/messages.ts'
import { objects } from '../support/fake-model/json.ts'
import { hear, type ModelBench, makeRequest, modelMaker, openModelBench, user } from './model-support.ts'

const makeAnthropic = modelMaker('anthropic', '/v1')
const makeOpenai = modelMaker('openai', '/v1')
const boundary = { type: 'ephemeral' }

describe('Anthropic only', () => {
  let bench: ModelBench
  beforeAll(async () => {
    bench = await openModelBench()
  })
  afterAll(() => bench.close())

  const lastBody = () => bench.fake.requests.at(-1)?.body ?? {}
  const lastRejection = () => bench.fake.requests.at(-1)?.rejection

  it('MODEL-2 sends redacted thinking back byte for byte', async () => {
    bench.fake.reply({
      thinking: { text: 'open' },
      redactedThinking: 'RW5jcnlwdGVk+/==',
      toolCalls: [{ name: 'weather', input: { place: 'Oslo' } }],
    })
    const model = makeAnthropic(bench, { thinkingTokens: 2_000 })
    const { response } = await hear(model, makeRequest())
    const messages: ModelMessage[] = [
      user('Hello'),
      { role: 'assistant', parts: response.parts },
      { role: 'tool', results: [{ callId: 'toolu_1', name: 'weather', text: 'sunny', isError: false }] },
    ]
    bench.fake.reply({ text: 'Sunny.' })
    await hear(model, makeRequest({ messages }))
    expect(lastRejection()).toBeUndefined()
    expect(objects(lastBody().messages).flatMap(({ content }) => objects(content))).toContainEqual({
      type: 'redacted_thinking',
      data: 'RW5jcnlwdGVk+/==',
    })
  })

  it('MODEL-2 does not continue the thinking of a turn that another provider started', async () => {
    bench.fake.reply({ thinking: { text: 'mine' }, toolCalls: [{ name: 'weather', input: { place: 'Oslo' } }] })
    const { response } = await hear(makeOpenai(bench, { thinkingTokens: 2_000 }, { name: 'openai' }), makeRequest())
    const call = response.parts.find((part) => part.type === 'tool_call')
    const messages: ModelMessage[] = [
      user('Hello'),
      { role: 'assistant', parts: response.parts },
      { role: 'tool', results: [{ callId: call?.id ?? '', name: 'weather', text: 'sunny', isError: false }] },
    ]
    const model = makeAnthropic(bench, { thinkingTokens: 2_000 }, { name: 'anthropic' })
    bench.fake.reply({ text: 'Sunny.' })
    await hear(model, makeRequest({ messages }))
    expect(lastBody().thinking).toBeUndefined()
    bench.fake.reply({ text: 'Still sunny.' })
    await hear(model, makeRequest({ messages: [...messages, user('And now?')] }))
    expect(lastBody().thinking).toEqual({ type: 'enabled', budget_tokens: 2_000 })
  })

  it('MODEL-2 asks models that bind thinking to its conversation to drop it when the conversation changed', async () => {
    bench.fake.reply({ text: 'Hi.' })
    await hear(makeAnthropic(bench, { model: 'claude-sonnet-5-5' }), makeRequest())
    expect(lastBody().thinking).toEqual({ block_binding: { prefix_mismatch_behavior: 'drop_block' } })
    bench.fake.reply({ text: 'Hi.' })
    await hear(makeAnthropic(bench, { model: 'claude-sonnet-5-5', thinkingTokens: 8_000 }), makeRequest())
    expect(lastBody()).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
      output_config: { effort: 'medium' },
    })
  })

  it('MODEL-3 marks the end of each stability level and the newest message, nothing else', async () => {
    bench.fake.reply({ text: 'Hi.' })
    const system = [
      { name: 'soul', layer: 'stable' as const, text: 'One' },
      { name: 'tools', layer: 'stable' as const, text: 'Two' },
      { name: 'memory', layer: 'semi_stable' as const, text: 'Three' },
      { name: 'empty', layer: 'semi_stable' as const, text: ' ' },
      { name: 'now', layer: 'dynamic' as const, text: 'Four' },
    ]
    const messages: ModelMessage[] = [user('a'), { role: 'assistant', parts: [{ type: 'text', text: 'b' }] }, user('c')]
    await hear(makeAnthropic(bench), makeRequest({ system, messages }))
    expect(lastBody().system).toEqual([
      { type: 'text', text: 'One' },
      { type: 'text', text: 'Two', cache_control: boundary },
      { type: 'text', text: 'Three', cache_control: boundary },
      { type: 'text', text: 'Four' },
    ])
    expect(lastBody().messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
      { role: 'user', content: [{ type: 'text', text: 'c', cache_control: boundary }] },
    ])
  })

  it('MODEL-3 marks the newest results of a turn with tools', async () => {
    bench.fake.reply({ text: 'Hi.' })
    const call = (id: string) => ({ type: 'tool_call' as const, id, name: 'weather', input: {} })
    const result = (callId: string) => ({ callId, name: 'weather', text: 'sunny', isError: false })
    const messages: ModelMessage[] = [
      user('a'),
      { role: 'assistant', parts: [call('t1'), call('t2')] },
      { role: 'tool', results: [result('t1'), result('t2')] },
    ]
    await hear(makeAnthropic(bench), makeRequest({ messages }))
    expect(lastRejection()).toBeUndefined()
    const marks = objects(objects(lastBody().messages).at(-1)?.content).map(({ cache_control }) => cache_control)
    expect(marks).toEqual([undefined, boundary])
  })

  it('MODEL-5 sends a PDF as a document', async () => {
    bench.fake.reply({ text: 'A contract.' })
    const part = { type: 'media' as const, hash: 'h', mediaType: 'application/pdf', name: 'contract.pdf', bytes: 3 }
    const loadMedia = async () => new Uint8Array([1, 2, 3])
    await hear(makeAnthropic(bench), makeRequest({ messages: [{ role: 'user', parts: [part] }], loadMedia }))
    expect(objects(objects(lastBody().messages)[0]?.content)).toMatchObject([
      { type: 'document', source: { media_type: 'application/pdf', data: 'AQID' } },
    ])
  })

  it('MODEL-2 continues after a call of a tool that is named like a property of every object', async () => {
    bench.fake.reply({ toolCalls: [{ name: 'constructor', input: {} }] })
    const model = makeAnthropic(bench)
    const { response } = await hear(model, makeRequest())
    const [call] = response.parts.filter((part) => part.type === 'tool_call')
    const messages: ModelMessage[] = [
      user('Hello'),
      { role: 'assistant', parts: response.parts },
      {
        role: 'tool',
        results: [{ callId: call?.id ?? '', name: call?.name ?? '', text: 'no such tool', isError: true }],
      },
    ]
    bench.fake.reply({ text: 'Sorry.' })
    await hear(model, makeRequest({ messages }))
    expect(lastRejection()).toBeUndefined()
    expect(call?.name).toBe('constructor')
  })
})
