import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../src/protocol/events.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'

const wires = [
  { type: 'anthropic', path: '/v1' },
  { type: 'openai-compatible', path: '/v1' },
] as const

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

describe.each(wires)('the daemon against a model server, $type', ({ type, path }) => {
  let fake: FakeModel
  let familiar: RunningFamiliar

  beforeEach(async () => {
    fake = await startFakeModel({})
    const provider = [
      `type = "${type}"`,
      `base_url = "${fake.url}${path}"`,
      'api_key_env = "FAKE_KEY"',
      '[models.main]',
      'model = "fake-model"',
      'max_tokens = 4096',
      'max_context_tokens = 200000',
      'cost_per_mtok = [3.0, 15.0, 0.3, 3.75]',
      'supports_vision = true',
      ...(type === 'anthropic' ? ['thinking_tokens = 1024'] : []),
    ].join('\n')
    familiar = await startFamiliar({
      providers: { fake: provider },
      toml: '[routes]\nprimary = "fake/main"\n',
      extraTools: [toolOf('look', async (input) => said(`looked at ${JSON.stringify(input)}`))],
    })
  })

  afterEach(async () => {
    await familiar.close()
    await fake.close()
  })

  async function eventsOf(message: string): Promise<TurnEvent[]> {
    const events: TurnEvent[] = []
    for await (const event of familiar.stream(message)) events.push(event)
    return events
  }

  it('LOOP-5 text streams in deltas that add up to the reply', async () => {
    fake.reply({ text: 'The quick brown fox jumps.', chunkSize: 4, chunkDelayMs: 2 })
    const events = await eventsOf('go')
    const deltas = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []))
    expect(deltas.length).toBeGreaterThan(2)
    expect(deltas.join('')).toBe('The quick brown fox jumps.')
    expect(events.at(-1)).toMatchObject({ type: 'turn_end', outcome: 'completed' })
  })

  it('LOOP-2 three tool calls of one response, and their results in order', async () => {
    const toolCalls = [1, 2, 3].map((n) => ({ name: 'look', input: { n } }))
    fake.reply([{ text: 'I look.', toolCalls }, { text: 'Seen all.' }])
    const reply = await familiar.chat('look')
    expect(reply).toMatchObject({ reply: 'Seen all.', rounds: 2 })
    expect(reply.tool_calls.map((call) => call.input)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    expect(fake.rejections()).toEqual([])
  })

  it('MODEL-2 thinking is replayed byte for byte in the next request', async () => {
    const text = 'Let me think: 1 + 1 = 2 — “sure”.\n'
    fake.reply([
      { thinking: { text }, redactedThinking: 'c2VjcmV0', toolCalls: [{ name: 'look', input: {} }] },
      { text: 'Two.' },
    ])
    expect((await familiar.chat('1 + 1?')).reply).toBe('Two.')
    expect(fake.rejections()).toEqual([])
    if (type === 'anthropic') {
      // The server refuses thinking that differs from what it issued; that it is there at all is seen here.
      const second = JSON.stringify(fake.requests[1]?.body)
      expect(second).toContain(JSON.stringify(text).slice(1, -1))
      expect(second).toContain('c2VjcmV0')
    }
  })

  it('SESS-9 an image reaches the model in its own turn only', async () => {
    fake.reply([{ text: 'A pixel.' }, { text: 'Yes.' }])
    const attachments = [{ name: 'pixel.png', media_type: 'image/png', data: pixel }]
    expect((await familiar.chat('what is this?', { attachments })).reply).toBe('A pixel.')
    await familiar.chat('sure?')
    expect(fake.requests[0]?.bytes).toContain(pixel)
    expect(fake.requests[1]?.bytes).not.toContain(pixel)
    expect(fake.requests[1]?.bytes).toContain('attached earlier: pixel.png')
  })

  it('LOOP-3 a reply cut by its length limit is delivered as far as it came', async () => {
    fake.reply({ text: 'Half of a sent', stop: 'max_tokens' })
    const { reply, outcome } = await familiar.chat('go')
    expect(outcome).toBe('completed')
    expect(reply).toMatch(/^Half of a sent\n\n\[The reply was cut at its length limit/)
  })

  it('LOOP-7 a rate limit is waited for as long as the server says', async () => {
    fake.reply([{ status: 429, retryAfter: 1 }, { text: 'Now.' }])
    const events = await eventsOf('go')
    expect(events.find((event) => event.type === 'retry')).toMatchObject({ waitMs: 1_000 })
    expect(events.find((event) => event.type === 'response')).toMatchObject({ text: 'Now.' })
  })

  it('LOOP-7 a stream that breaks in the middle is started again and nothing of the first half stays', async () => {
    fake.reply([{ text: 'The wrong half of it', chunkSize: 4, cutAfterChunks: 2 }, { text: 'The whole.' }])
    const events = await eventsOf('go')
    const retry = events.findIndex((event) => event.type === 'retry')
    expect(retry).toBeGreaterThan(0)
    const after = events.slice(retry).flatMap((event) => (event.type === 'text_delta' ? [event.text] : []))
    expect(after.join('')).toBe('The whole.')
    expect(events.find((event) => event.type === 'response')).toMatchObject({ text: 'The whole.' })
  })

  it('LOOP-8 another client stops the turn, the provider sees it, and the session continues', async () => {
    fake.reply([{ hang: true }, { text: 'Fine.' }])
    const waiting = familiar.chat('go')
    await fake.until(() => fake.stats().inFlight === 1)
    const { sessions } = (await (await familiar.request('GET', '/api/v1/sessions')).json()) as {
      sessions: { id: string }[]
    }
    const stopped = await familiar.request('POST', `/api/v1/sessions/${sessions[0]?.id}/stop`, {})
    expect(await stopped.json()).toEqual({ stopped: true })
    expect(await waiting).toMatchObject({ outcome: 'stopped' })
    await fake.until(() => fake.stats().aborted === 1)
    expect((await familiar.chat('again')).reply).toBe('Fine.')
    expect(fake.rejections()).toEqual([])
  })

  it('LOOP-7 a rejection is reported with its status', async () => {
    fake.reply({ status: 400, errorMessage: 'prompt is too long' })
    const response = await familiar.request('POST', '/api/v1/chat', { message: 'go' })
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ code: 'provider_error' })
  })
})
