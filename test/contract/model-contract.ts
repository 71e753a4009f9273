import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelStreamEvent } from '../../src/models/model.ts'
import type { AssistantPart, ModelMessage } from '../../src/protocol/messages.ts'
import { createGuardedFetch } from '../../src/security/network/guarded-fetch.ts'
import type { JsonObject } from '../support/fake-model/json.ts'
import {
  apiKey,
  hear,
  hearFailure,
  type MakeModel,
  type ModelBench,
  makeRequest,
  openModelBench,
  user,
  weatherTool,
} from './model-support.ts'

/** The differences of the wires: how each encodes what every model must be able to say. */
export interface WireExpectations {
  /** The thinking in a request's body, with the signature where the wire has one. */
  replayedThinking(body: JsonObject): unknown
  expectedThinking(text: string, signature: string): unknown
  /** The second of two requests that allow one call at a time; undefined where the wire cannot say so. */
  oneCallAtATime?: object
  /** A request that has to call the tool `weather`, and one that has to call any; undefined where the wire cannot say so. */
  toolChoice?: { named: object; any: object }
  /** The tool's schema as this wire is sent it when strict. */
  strictTool?: object
  /** Arguments travel as text, so they can be broken. */
  textArguments: boolean
  refusal: boolean
  usage: { inputTokens: number; outputTokens: number; cacheReadTokens: number; cacheWriteTokens: number }
}

const picture: ModelMessage = {
  role: 'user',
  parts: [
    { type: 'text', text: 'What is this?' },
    { type: 'media', hash: 'abc', mediaType: 'image/png', name: 'cat.png', bytes: 3 },
  ],
}

export function describeModel(name: string, makeModel: MakeModel, wire: WireExpectations): void {
  describe(name, () => {
    let bench: ModelBench
    beforeAll(async () => {
      bench = await openModelBench()
    })
    afterAll(() => bench.close())

    const lastRequest = () => {
      const request = bench.fake.requests.at(-1)
      if (!request) throw new Error('no request came')
      return request
    }
    /** The conversation after `answer` and the results of its calls. */
    const afterAnswer = (answer: AssistantPart[]): ModelMessage[] => [
      user('Hello'),
      { role: 'assistant', parts: answer },
      {
        role: 'tool',
        results: answer.flatMap((part) =>
          part.type === 'tool_call' ? [{ callId: part.id, name: part.name, text: 'sunny', isError: false }] : [],
        ),
      },
    ]

    it('MODEL-1 streams text as deltas and then says it whole', async () => {
      bench.fake.reply({ text: 'Good morning, this is a longer answer. '.repeat(10), chunkSize: 9 })
      const { events, response } = await hear(makeModel(bench), makeRequest())
      expect(events.filter((event) => event.type === 'text_delta').length).toBeGreaterThan(10)
      expect(response).toMatchObject({ stopReason: 'end', parts: [{ type: 'text' }] })
      expect(lastRequest().rejection).toBeUndefined()
    })

    it('MODEL-1 reads a stream whose bytes arrive torn apart', async () => {
      const text = 'Zwölf Grüße 🐈‍⬛ und 茶'
      bench.fake.reply({ text, chunkSize: 5, writeSize: 3 })
      const { response } = await hear(makeModel(bench), makeRequest())
      expect(response.parts).toMatchObject([{ type: 'text', text }])
    })

    it('MODEL-1 hands over three parallel tool calls in order, beside the text', async () => {
      const toolCalls = ['Oslo', 'Bonn', 'Rome'].map((place) => ({ name: 'weather', input: { place } }))
      bench.fake.reply({ text: 'Let me look.', toolCalls, chunkSize: 6 })
      const { response } = await hear(makeModel(bench), makeRequest())
      expect(response.stopReason).toBe('tool_use')
      expect(response.parts).toMatchObject([
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_call', name: 'weather', input: { place: 'Oslo' } },
        { type: 'tool_call', name: 'weather', input: { place: 'Bonn' } },
        { type: 'tool_call', name: 'weather', input: { place: 'Rome' } },
      ])
      const ids = response.parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
      expect(new Set(ids).size).toBe(3)

      bench.fake.reply({ text: 'Sunny everywhere.' })
      await hear(makeModel(bench), makeRequest({ messages: afterAnswer(response.parts) }))
      expect(lastRequest().rejection).toBeUndefined()
    })

    it('MODEL-1 gives calls that share an id, or take one from the history, an id of their own', async () => {
      const twice = { id: 'call_again', name: 'weather', input: { place: 'Oslo' } }
      bench.fake.reply({ toolCalls: [twice] })
      const first = await hear(makeModel(bench), makeRequest())
      bench.fake.reply({ toolCalls: [twice] })
      const second = await hear(makeModel(bench), makeRequest({ messages: afterAnswer(first.response.parts) }))
      const messages = [...afterAnswer(first.response.parts), ...afterAnswer(second.response.parts).slice(1)]
      bench.fake.reply({ text: 'Done.' })
      await hear(makeModel(bench), makeRequest({ messages }))
      expect(lastRequest().rejection).toBeUndefined()
      expect(second.response.parts).toMatchObject([{ type: 'tool_call', id: 'call_again_2' }])
    })

    it('MODEL-1 says max_tokens and keeps the calls that are complete', async () => {
      bench.fake.reply({
        text: 'And then',
        toolCalls: [{ name: 'weather', input: { place: 'Oslo' } }],
        stop: 'max_tokens',
      })
      const { response } = await hear(makeModel(bench), makeRequest())
      expect(response.stopReason).toBe('max_tokens')
      expect(response.parts).toMatchObject([{ type: 'text' }, { type: 'tool_call', input: { place: 'Oslo' } }])
    })

    it.runIf(wire.refusal)('MODEL-1 reports a refusal of the provider', async () => {
      bench.fake.reply({ text: 'I cannot', stop: 'refusal' })
      const { response } = await hear(makeModel(bench), makeRequest())
      expect(response.stopReason).toBe('refusal')
    })

    it.runIf(wire.textArguments)('MODEL-1 keeps arguments that are not JSON as the text they are', async () => {
      bench.fake.reply({ toolCalls: [{ name: 'weather', rawInput: '{"place": "Os' }] })
      const { response } = await hear(makeModel(bench), makeRequest())
      expect(response.parts).toMatchObject([{ type: 'tool_call', input: '{"place": "Os' }])
      bench.fake.reply({ text: 'Sorry.' })
      await hear(makeModel(bench), makeRequest({ messages: afterAnswer(response.parts) }))
      expect(lastRequest().rejection).toBeUndefined()
    })

    it('MODEL-1 sends tool errors, odd text and unfinished thinking in a form that the provider accepts', async () => {
      const messages: ModelMessage[] = [
        user('Hello'),
        {
          role: 'assistant',
          parts: [
            { type: 'text', text: '  ' },
            { type: 'tool_call', id: 'call_1', name: 'weather', input: null },
          ],
        },
        { role: 'tool', results: [{ callId: 'call_1', name: 'weather', text: 'half \ud83d', isError: true }] },
        {
          role: 'assistant',
          parts: [{ type: 'thinking', text: 'stopped here', replay: { provider: 'mine', metadata: {} } }],
        },
        user('Go on \udc00'),
      ]
      bench.fake.reply({ text: 'Yes.' })
      await hear(makeModel(bench), makeRequest({ messages }))
      expect(lastRequest().rejection).toBeUndefined()
      expect(lastRequest().bytes).not.toContain('stopped here')
    })

    it('MODEL-2 sends thinking back byte for byte', async () => {
      const text = 'First the weather — „Wetter“ — then the plan.\n\n 2 > 1'
      bench.fake.reply({
        thinking: { text, signature: 'c2lnbmVk+/=' },
        toolCalls: [{ name: 'weather', input: { place: 'Oslo' } }],
        chunkSize: 7,
      })
      const model = makeModel(bench, { thinkingTokens: 2_000 })
      const { events, response } = await hear(model, makeRequest())
      expect(events.some((event) => event.type === 'thinking_delta')).toBe(true)
      // As stored in the log.
      const parts = JSON.parse(JSON.stringify(response.parts)) as AssistantPart[]
      bench.fake.reply({ text: 'Sunny.' })
      await hear(model, makeRequest({ messages: afterAnswer(parts) }))
      expect(lastRequest().rejection).toBeUndefined()
      expect(wire.replayedThinking(lastRequest().body)).toEqual(wire.expectedThinking(text, 'c2lnbmVk+/='))
    })

    it('MODEL-2 sends thinking only to the provider that made it', async () => {
      bench.fake.reply({
        thinking: { text: 'a private thought', signature: 'c2lnbmVkIGFnYWlu' },
        toolCalls: [{ name: 'weather', input: { place: 'Oslo' } }],
      })
      const { response } = await hear(makeModel(bench, { thinkingTokens: 2_000 }), makeRequest())
      const other = makeModel(bench, { thinkingTokens: 2_000 }, { name: 'other' })
      bench.fake.reply({ text: 'Sunny.' })
      await hear(other, makeRequest({ messages: afterAnswer(response.parts) }))
      expect(lastRequest().bytes).not.toContain('a private thought')
      expect(lastRequest().bytes).not.toContain('c2lnbmVkIGFnYWlu')
    })

    it('MODEL-3 counts all input tokens, and of them the cached ones', async () => {
      bench.fake.reply({ text: 'Hi.', usage: { input: 100, output: 20, cacheRead: 50, cacheWrite: 25 } })
      const { response } = await hear(makeModel(bench), makeRequest())
      expect(response.usage).toEqual(wire.usage)
    })

    it('MODEL-3 CTX-4 repeats each request in the next one, byte for byte', async () => {
      const model = makeModel(bench)
      const system = [{ name: 'soul', layer: 'stable' as const, text: 'A sentence of the system prompt. '.repeat(150) }]
      const messages: ModelMessage[] = []
      const shares: number[] = []
      for (let turn = 0; turn < 20; turn += 1) {
        messages.push(user(`Question ${turn}`))
        const before = turn === 0 ? '' : lastRequest().bytes
        const { response } = await hear(model, makeRequest({ system, messages }))
        messages.push({ role: 'assistant', parts: response.parts })
        if (turn > 0) shares.push(commonPrefix(before, lastRequest().bytes) / before.length)
      }
      expect(Math.min(...shares)).toBeGreaterThan(0.98)
    })

    it('MODEL-5 sends an image to a model that sees, and a note to one that does not', async () => {
      const loadMedia = async () => new Uint8Array([1, 2, 3])
      bench.fake.reply({ text: 'A cat.' })
      await hear(makeModel(bench), makeRequest({ messages: [picture], loadMedia }))
      expect(lastRequest().rejection).toBeUndefined()
      expect(lastRequest().bytes).toContain('AQID')

      bench.fake.reply({ text: 'I cannot see.' })
      await hear(makeModel(bench, { supportsVision: false }), makeRequest({ messages: [picture], loadMedia }))
      expect(lastRequest().bytes).not.toContain('AQID')
      expect(lastRequest().bytes).toContain('cat.png (image/png, 3 bytes). Not shown: this model cannot see images')
    })

    it('MODEL-5 says that a file is missing instead of failing', async () => {
      const loadMedia = () => Promise.reject(new Error('ENOENT'))
      bench.fake.reply({ text: 'Which file?' })
      await hear(makeModel(bench), makeRequest({ messages: [picture], loadMedia }))
      expect(lastRequest().bytes).toContain('its file is missing')
    })

    it.runIf(wire.oneCallAtATime)('MODEL-5 asks for one call at a time if configured', async () => {
      bench.fake.reply({ text: 'Hi.' })
      await hear(makeModel(bench, { oneCallAtATime: true }), makeRequest())
      expect(lastRequest().body).toMatchObject(wire.oneCallAtATime ?? {})
    })

    it.runIf(wire.toolChoice)('MODEL-5 demands a call if the request does', async () => {
      bench.fake.reply([{ toolCalls: [{ name: 'weather', input: { place: 'Oslo' } }] }, { text: 'Hi.' }])
      await hear(makeModel(bench), makeRequest({ toolChoice: { name: 'weather' } }))
      expect(lastRequest().body).toMatchObject(wire.toolChoice?.named ?? {})
      await hear(makeModel(bench), makeRequest({ toolChoice: 'any' }))
      expect(lastRequest().body).toMatchObject(wire.toolChoice?.any ?? {})
    })

    it('MODEL-5 asks again without the demand if the server refuses it', async () => {
      const errorMessage = "Invalid value for 'tool_choice': only auto is supported"
      bench.fake.reply([{ status: 400, errorMessage }, { text: 'Hi.' }])
      const { response } = await hear(makeModel(bench), makeRequest({ toolChoice: 'any' }))
      expect(response.parts).toMatchObject([{ type: 'text', text: 'Hi.' }])
      expect(lastRequest().bytes).not.toContain('tool_choice')
    })

    it.runIf(wire.strictTool)('MODEL-5 uses strict schemas if configured', async () => {
      bench.fake.reply({ toolCalls: [{ name: 'weather', input: { place: 'Oslo', day: null } }] })
      // A name that every SDK knows to enforce schemas.
      const model = makeModel(bench, { strictTools: true, model: 'claude-sonnet-4-6' })
      const { response } = await hear(model, makeRequest())
      expect(lastRequest().rejection).toBeUndefined()
      expect(lastRequest().body).toMatchObject(wire.strictTool ?? {})
      expect(response.parts).toMatchObject([{ type: 'tool_call', input: { place: 'Oslo' } }])
    })

    it('LOOP-7 says how long a 429 asks to wait', async () => {
      bench.fake.reply({ status: 429, retryAfter: 7, errorMessage: 'Slow down, please' })
      const error = await hearFailure(makeModel(bench), makeRequest())
      expect(error).toMatchObject({ code: 'rate_limited', retryable: true, status: 429, retryAfterMs: 7_000 })
      expect(error.message).toBe('mine/main: Slow down, please (HTTP 429)')
    })

    it.each([
      [500, 'overloaded', true],
      [503, 'overloaded', true],
      [529, 'overloaded', true],
      [408, 'overloaded', true],
      [400, 'rejected', false],
      [401, 'rejected', false],
      [403, 'rejected', false],
      [404, 'rejected', false],
      [422, 'rejected', false],
    ])('LOOP-7 takes status %i as %s', async (status, code, retryable) => {
      bench.fake.reply({ status })
      expect(await hearFailure(makeModel(bench), makeRequest())).toMatchObject({ code, retryable, status })
    })

    it('LOOP-7 recognizes an error inside the stream', async () => {
      bench.fake.reply({ text: 'It begins and '.repeat(10), errorEventAfterChunks: 2, errorMessage: 'Overloaded' })
      const error = await hearFailure(makeModel(bench), makeRequest())
      expect(error).toMatchObject({ code: 'overloaded', retryable: true })
      expect(error.message).toContain('Overloaded')
    })

    it.each(['cutAfterChunks', 'endAfterChunks'] as const)(
      'LOOP-7 knows a stream that broke off (%s)',
      async (accident) => {
        bench.fake.reply({ text: 'It begins and never ends. '.repeat(10), chunkSize: 20, [accident]: 3 })
        const events: ModelStreamEvent[] = []
        const reading = (async () => {
          for await (const event of makeModel(bench).stream(makeRequest(), new AbortController().signal))
            events.push(event)
        })()
        await expect(reading).rejects.toMatchObject({ name: 'ModelError', code: 'cut', retryable: true })
        expect(events.every((event) => event.type === 'text_delta')).toBe(true)
      },
    )

    it('LOOP-7 knows a server that is not there', async () => {
      const gone = await openModelBench()
      const { url } = gone.fake
      await gone.fake.close()
      const error = await hearFailure(makeModel(gone, {}, { url }), makeRequest())
      expect(error).toMatchObject({ code: 'unreachable', retryable: true })
      await gone.fetch.close()
    })

    it('SEC-8 is blocked by the guard if its host is not listed', async () => {
      const sent = bench.fake.stats().requests
      const fetch = createGuardedFetch({ streaming: true })
      const error = await hearFailure(makeModel({ ...bench, fetch }), makeRequest())
      expect(error).toMatchObject({ code: 'rejected', retryable: false })
      expect(error.message).toContain('127.0.0.1 is not a public address')
      expect(bench.fake.stats().requests).toBe(sent)
      await fetch.close()
    })

    it('SEC-13 never repeats the key, even if the provider does', async () => {
      bench.fake.reply({
        status: 401,
        errorMessage: `Incorrect API key provided: ${apiKey}. Also sk-proj-abcd****wxyz`,
      })
      const error = await hearFailure(makeModel(bench), makeRequest())
      expect(error.message).toBe('mine/main: Incorrect API key provided: [key]. Also [key] (HTTP 401)')
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(apiKey)
    })

    it.each([
      ['before the first byte', { hang: true }],
      ['in the middle', { text: 'It begins and '.repeat(10), chunkSize: 10, stallAfterChunks: 3 }],
    ] as const)('MODEL-1 stops on an abort, %s, and the server sees it', async (_when, step) => {
      bench.fake.reply(step)
      const sent = bench.fake.stats().requests
      const controller = new AbortController()
      const failing = hearFailure(makeModel(bench), makeRequest(), controller.signal)
      await bench.fake.until(() => bench.fake.stats().requests > sent)
      await new Promise((resolve) => setTimeout(resolve, 50))
      controller.abort()
      expect(await failing).toMatchObject({ code: 'aborted', retryable: false })
      await bench.fake.until(() => lastRequest().aborted)
    })

    it('MODEL-1 sends nothing if it was stopped before the start', async () => {
      const sent = bench.fake.stats().requests
      expect(await hearFailure(makeModel(bench), makeRequest(), AbortSignal.abort())).toMatchObject({ code: 'aborted' })
      expect(bench.fake.stats().requests).toBe(sent)
    })

    it('MODEL-1 ends the request when its reader walks away', async () => {
      bench.fake.reply({ text: 'It begins and '.repeat(10), chunkSize: 10, stallAfterChunks: 3 })
      for await (const _ of makeModel(bench).stream(makeRequest(), new AbortController().signal)) break
      await bench.fake.until(() => lastRequest().aborted)
    })

    it('MODEL-1 reports signs of life that make no event', async () => {
      const input = { place: 'Oslo '.repeat(100) }
      bench.fake.reply({ toolCalls: [{ name: 'weather', input }], chunkSize: 20 })
      let activity = 0
      const onActivity = () => {
        activity += 1
      }
      const { events } = await hear(makeModel(bench), makeRequest({ tools: [weatherTool], onActivity }))
      expect(events).toHaveLength(1)
      expect(activity).toBeGreaterThan(wire.textArguments ? 10 : 1)
    })
  })
}

function commonPrefix(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length += 1
  return length
}
