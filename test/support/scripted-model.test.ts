import { expect, it } from 'vitest'
import { ModelError, type ModelRequest, type ModelStreamEvent } from '../../src/models/model.ts'
import { createManualClock } from './manual-clock.ts'
import { createScriptedModel } from './scripted-model.ts'

const request: ModelRequest = {
  system: [],
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
  maxTokens: 100,
  loadMedia: async () => new Uint8Array(),
}
const running = new AbortController().signal

async function collect(events: AsyncIterable<ModelStreamEvent>): Promise<ModelStreamEvent[]> {
  const collected: ModelStreamEvent[] = []
  for await (const event of events) collected.push(event)
  return collected
}

it('MODEL-1 plays its script and records its requests', async () => {
  const model = createScriptedModel({
    script: [
      { thinking: 'hm', text: 'Hello', deltaLength: 3, usage: { inputTokens: 7 } },
      { toolCalls: [{ name: 'weather', input: { place: 'Oslo' } }] },
    ],
  })
  expect(await collect(model.stream(request, running))).toMatchObject([
    { type: 'thinking_delta', text: 'hm' },
    { type: 'text_delta', text: 'Hel' },
    { type: 'text_delta', text: 'lo' },
    { type: 'finished', response: { stopReason: 'end', usage: { inputTokens: 7 } } },
  ])
  expect(await collect(model.stream(request, running))).toMatchObject([
    { type: 'finished', response: { stopReason: 'tool_use', parts: [{ type: 'tool_call', id: 'call_2_1' }] } },
  ])
  expect(model.requests).toHaveLength(2)
  await expect(collect(model.stream(request, running))).rejects.toMatchObject({ code: 'rejected' })
})

it('MODEL-1 answers by a function, after its delay', async () => {
  const clock = createManualClock()
  const model = createScriptedModel({
    script: ({ messages }) => ({ text: `${messages.length}`, delayMs: 1_000 }),
    clock,
  })
  const collecting = collect(model.stream(request, running))
  await clock.advance(0)
  await clock.advance(1_000)
  expect(await collecting).toMatchObject([{ text: '1' }, { type: 'finished' }])
})

it('MODEL-1 fails and stops as scripted', async () => {
  const clock = createManualClock()
  const error = new ModelError('cut', 'gone', { retryable: true })
  const model = createScriptedModel({
    script: [
      { text: 'a', error },
      { text: 'b', delayMs: 1_000 },
    ],
    clock,
  })
  await expect(collect(model.stream(request, running))).rejects.toBe(error)
  const stopping = new AbortController()
  const collecting = collect(model.stream(request, stopping.signal))
  setImmediate(() => stopping.abort())
  await expect(collecting).rejects.toMatchObject({ code: 'aborted', retryable: false })
})
