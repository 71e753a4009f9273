import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4FunctionTool,
  type LanguageModelV4Prompt,
} from '@ai-sdk/provider'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { collectStream } from './collect-stream.ts'
import { type FakeModel, startFakeModel } from './start-fake-model.ts'
import type { WireName } from './wire.ts'

export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export function userSays(text: string): LanguageModelV4Prompt[number] {
  return { role: 'user', content: [{ type: 'text', text }] }
}

export const TOOLS: LanguageModelV4FunctionTool[] = ['read', 'search', 'write'].map((name) => ({
  type: 'function',
  name,
  description: `${name} something`,
  inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
}))

const THREE_CALLS = [
  { id: 'call_a', name: 'read', input: { what: 'a “quoted” file 🐈' } },
  { id: 'call_b', name: 'search', input: { what: 'b' } },
  { id: 'call_c', name: 'write', input: {} },
]

/** The contract of every AI SDK provider with this server, whatever the wire. */
export function describeProvider(options: {
  name: string
  wire: WireName
  createModel: (url: string) => LanguageModelV4
  reportsCacheWrite: boolean
}): void {
  describe(`${options.name} against the fake model`, () => {
    let server: FakeModel
    let model: LanguageModelV4
    beforeEach(async () => {
      server = await startFakeModel()
      model = options.createModel(server.url)
    })
    afterEach(() => server.close())

    test('streams text in pieces and repeats the user by default', async () => {
      const prompt: LanguageModelV4Prompt = [{ role: 'system', content: 'Be brief.' }, userSays('hello 🐈 there')]
      server.reply({ text: 'one two three 🐈 four', chunkSize: 3 })
      const first = await collectStream(model, { prompt })
      const second = await collectStream(model, { prompt })
      expect(first.text).toBe('one two three 🐈 four')
      expect(first.parts.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(3)
      expect(first.finish?.finishReason.unified).toBe('stop')
      expect(second.text).toBe('echo: hello 🐈 there')
      expect(server.requests.map(({ wire }) => wire)).toEqual([options.wire, options.wire])
    })

    test('reads a reply that arrives torn apart', async () => {
      server.reply({ text: 'naïve 🐈 “text”', toolCalls: THREE_CALLS, chunkSize: 4, writeSize: 7 })
      const { text, toolCalls } = await collectStream(model, { prompt: [userSays('hi')], tools: TOOLS })
      expect(text).toBe('naïve 🐈 “text”')
      expect(toolCalls).toHaveLength(3)
    })

    test('answers without a stream as well', async () => {
      server.reply({ text: 'whole', toolCalls: THREE_CALLS, usage: { input: 10, output: 7, cacheRead: 5 } })
      const { content, finishReason, usage } = await model.doGenerate({ prompt: [userSays('hi')], tools: TOOLS })
      expect(content.find(({ type }) => type === 'text')).toMatchObject({ text: 'whole' })
      expect(content.filter(({ type }) => type === 'tool-call')).toHaveLength(3)
      expect(finishReason.unified).toBe('tool-calls')
      expect(usage.inputTokens).toMatchObject({ total: 15, noCache: 10, cacheRead: 5 })
    })

    test('calls three tools at once and takes their results', async () => {
      server.reply({ toolCalls: THREE_CALLS, chunkSize: 3 })
      const { toolCalls, finish } = await collectStream(model, { prompt: [userSays('go')], tools: TOOLS })
      expect(toolCalls.map(({ toolCallId, toolName, input }) => [toolCallId, toolName, JSON.parse(input)])).toEqual(
        THREE_CALLS.map(({ id, name, input }) => [id, name, input]),
      )
      expect(finish?.finishReason.unified).toBe('tool-calls')

      const prompt: LanguageModelV4Prompt = [
        userSays('go'),
        {
          role: 'assistant',
          content: toolCalls.map(({ toolCallId, toolName, input }) => ({
            type: 'tool-call',
            toolCallId,
            toolName,
            input: JSON.parse(input),
          })),
        },
        {
          role: 'tool',
          content: toolCalls.map(({ toolCallId, toolName }, index) => ({
            type: 'tool-result',
            toolCallId,
            toolName,
            output: { type: 'text', value: `result ${index}` },
          })),
        },
      ]
      server.respondWith(({ toolResults, tools }) => ({
        text: `${toolResults.map(({ id, text }) => `${id}=${text}`).join(', ')} of ${tools.join(', ')}`,
      }))
      const answer = await collectStream(model, { prompt, tools: TOOLS })
      expect(answer.text).toBe('call_a=result 0, call_b=result 1, call_c=result 2 of read, search, write')
    })

    test('refuses a call without its result, and keeps the queued reply for the next request', async () => {
      server.reply({ text: 'still here' })
      const prompt: LanguageModelV4Prompt = [
        userSays('go'),
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'call_a', toolName: 'read', input: {} }] },
        userSays('well?'),
      ]
      const { thrown } = await collectStream(model, { prompt, tools: TOOLS })
      expect(apiError(thrown)).toMatchObject({ statusCode: 400, isRetryable: false })
      expect(server.rejections().map(({ status }) => status)).toEqual([400])
      expect(apiError(thrown).message).toBe(server.requests[0]?.rejection)
      expect((await collectStream(model, { prompt: [userSays('go')] })).text).toBe('still here')
    })

    test('takes an image', async () => {
      let images = 0
      server.respondWith(({ messages }) => {
        images = messages[0]?.images ?? 0
        return undefined
      })
      const { text } = await collectStream(model, {
        prompt: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'what is it?' },
              { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PIXEL } },
            ],
          },
        ],
      })
      expect(text).toBe('echo: what is it?')
      expect(images).toBe(1)
      expect(server.requests[0]?.bytes).toContain(PIXEL)
    })

    test('says why it stopped', async () => {
      const stops = ['end', 'max_tokens', 'refusal'] as const
      server.reply(stops.map((stop) => ({ text: 'so far', stop })))
      const reasons: (string | undefined)[] = []
      for (const _ of stops) {
        const { finish } = await collectStream(model, { prompt: [userSays('hi')] })
        reasons.push(finish?.finishReason.unified)
      }
      expect(reasons).toEqual(['stop', 'length', 'content-filter'])
    })

    test('counts tokens', async () => {
      server.reply([
        { text: 'x', usage: { input: 100, output: 20, cacheRead: 70, cacheWrite: 30 } },
        { text: '12345678' },
      ])
      const scripted = await collectStream(model, { prompt: [userSays('hi')] })
      const counted = await collectStream(model, { prompt: [userSays('hi')] })
      expect(scripted.finish?.usage.inputTokens).toMatchObject({ total: 200, cacheRead: 70 })
      expect(scripted.finish?.usage.inputTokens.cacheWrite).toBe(options.reportsCacheWrite ? 30 : undefined)
      expect(scripted.finish?.usage.outputTokens.total).toBe(20)
      const length = server.requests[1]?.bytes.length ?? 0
      expect(counted.finish?.usage.inputTokens.total).toBe(Math.ceil(length / 4))
      expect(counted.finish?.usage.outputTokens.total).toBe(2)
    })

    test('429 carries retry-after, 529 is retryable, 401 is not', async () => {
      server.reply([{ status: 429, retryAfter: 7 }, { status: 529 }, { status: 401 }])
      const limited = apiError((await collectStream(model, { prompt: [userSays('hi')] })).thrown)
      const overloaded = apiError((await collectStream(model, { prompt: [userSays('hi')] })).thrown)
      const unknown = apiError((await collectStream(model, { prompt: [userSays('hi')] })).thrown)
      expect(limited).toMatchObject({ statusCode: 429, isRetryable: true })
      expect(limited.responseHeaders?.['retry-after']).toBe('7')
      expect(overloaded).toMatchObject({ statusCode: 529, isRetryable: true })
      expect(unknown).toMatchObject({ statusCode: 401, isRetryable: false })
    })

    test('a cut in the middle surfaces as an error after the text that came through', async () => {
      server.reply({ text: 'aaaabbbbcccc', chunkSize: 4, cutAfterChunks: 2 })
      const { text, thrown, finish } = await collectStream(model, { prompt: [userSays('hi')] })
      expect(text).toBe('aaaabbbb')
      expect(apiError(thrown)).toMatchObject({ statusCode: 200, isRetryable: true })
      expect(finish).toBeUndefined()
      expect(server.requests[0]?.aborted).toBe(false)
    })

    test('an error in the stream surfaces as a part', async () => {
      server.reply({ text: 'aaaabbbbcccc', chunkSize: 4, errorEventAfterChunks: 1, errorMessage: 'too busy' })
      const { text, errors } = await collectStream(model, { prompt: [userSays('hi')] })
      expect(text).toBe('aaaa')
      expect(errors).toMatchObject([{ message: 'too busy' }])
    })

    test('a truncated stream does not look finished', async () => {
      server.reply({ text: 'aaaabbbbcccc', chunkSize: 4, endAfterChunks: 1 })
      const { text, finish } = await collectStream(model, { prompt: [userSays('hi')] })
      expect(text).toBe('aaaa')
      expect(['interrupted', 'error']).toContain(finish?.finishReason.unified)
    })

    test('records an abort, before the first byte and in the middle', async () => {
      server.reply([{ hang: true }, { text: 'aaaabbbbcccc', chunkSize: 4, stallAfterChunks: 1 }])
      for (const index of [0, 1]) {
        const controller = new AbortController()
        const collected = collectStream(model, { prompt: [userSays('hi')], abortSignal: controller.signal })
        await server.until(() => server.requests.length === index + 1)
        controller.abort()
        expect((await collected).thrown).toMatchObject({ name: 'AbortError' })
        await server.until(() => server.requests[index]?.aborted)
      }
      expect(server.stats()).toMatchObject({ aborted: 2, inFlight: 0, peakInFlight: 1 })
    })

    test('lone surrogates are refused', async () => {
      const { thrown } = await collectStream(model, { prompt: [userSays('half a cat \ud83d here')] })
      expect(apiError(thrown).statusCode).toBe(400)
    })
  })
}

export function apiError(thrown: unknown): APICallError {
  if (!APICallError.isInstance(thrown)) throw new Error(`not an API error: ${String(thrown)}`)
  return thrown
}
