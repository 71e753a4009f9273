import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { waitFor } from '../../test/support/wait-for.ts'
import type { ModelRequest, ModelStreamEvent } from './model.ts'
import { createOpenaiChatModel } from './openai-chat.ts'
import { modelInfo } from './provider-connection.ts'

const settings = { model: 'm' }
const request: ModelRequest = {
  system: [],
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
  maxTokens: 100,
  loadMedia: async () => new Uint8Array(),
}

/** The model's reading of a stream, and the bodies that it sent. */
async function hear(stream: string | ReadableStream<Uint8Array>, asked = request) {
  const bodies: string[] = []
  const model = createOpenaiChatModel({
    info: modelInfo('mine/main', settings),
    providerName: 'mine',
    baseUrl: 'http://model.example/v1',
    apiKey: 'sk-the-owners-key',
    settings,
    fetch: async (_url, init) => {
      bodies.push(String(init?.body))
      return new Response(stream)
    },
  })
  const events: ModelStreamEvent[] = []
  for await (const event of model.stream(asked, new AbortController().signal)) events.push(event)
  const last = events.at(-1)
  if (last?.type !== 'finished') throw new Error('not finished')
  return { events, bodies, ...last.response }
}

const line = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`
const delta = (delta: object, finish_reason: string | null = null) => line({ choices: [{ delta, finish_reason }] })
const stop = delta({}, 'stop')
const done = 'data: [DONE]\n\n'
const noUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

describe('createOpenaiChatModel', () => {
  it.each([
    ['stop', 'end'],
    ['tool_calls', 'tool_use'],
    ['function_call', 'tool_use'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['eos', 'end'],
    ['weird', 'other'],
  ])('MODEL-1 treats %s as %s, with [DONE] or without', async (finish, stopReason) => {
    const text = delta({ content: 'Hi' }) + delta({}, finish)
    expect(await hear(text + done)).toMatchObject({ stopReason, usage: noUsage })
    expect(await hear(text)).toMatchObject({ stopReason, parts: [{ type: 'text', text: 'Hi' }] })
  })

  it('LOOP-3 keeps the calls beside a stop, and recognizes a refusal', async () => {
    const call = { function: { name: 'look', arguments: { n: 1 } } }
    expect(await hear(delta({ tool_calls: [call] }) + stop + done)).toMatchObject({
      stopReason: 'end',
      parts: [{ type: 'tool_call', id: 'call_1', name: 'look', input: { n: 1 } }],
    })
    expect(await hear(delta({ refusal: 'No.' }, 'stop') + done)).toMatchObject({
      stopReason: 'refusal',
      parts: [{ type: 'text', text: 'No.' }],
    })
  })

  it.each([
    ['reasoning_content', { reasoning_content: 'Hm.' }, {}],
    ['reasoning', { reasoning: 'Hm.', reasoning_content: null }, { field: 'reasoning' }],
    ['reasoning_text', { reasoning_text: 'Hm.' }, { field: 'reasoning_text' }],
    ['both', { reasoning: 'Hm.', reasoning_content: 'Hm.' }, {}],
    ['a part of the content', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }, {}],
  ])('MODEL-2 finds thinking in %s', async (_where, thinking, metadata) => {
    const { parts } = await hear(delta(thinking) + delta({ content: [{ type: 'text', text: 'Hi' }] }) + stop + done)
    expect(parts).toEqual([
      { type: 'thinking', text: 'Hm.', replay: { provider: 'mine', metadata } },
      { type: 'text', text: 'Hi' },
    ])
  })

  it('MODEL-2 sends the signature of a call back, and only to its own provider', async () => {
    const call = { id: 'c', function: { name: 'look', arguments: '{}' } }
    const signed = { ...call, extra_content: { google: { thought_signature: 'c2ln' } } }
    const { parts } = await hear(delta({ tool_calls: [signed] }, 'tool_calls') + done)
    const sent = async (provider: string) => {
      const own = parts.map((part) => ({ ...part, replay: { provider, metadata: part.replay?.metadata ?? {} } }))
      const messages: ModelRequest['messages'] = [...request.messages, { role: 'assistant', parts: own }]
      return (await hear(stop, { ...request, messages })).bodies[0]
    }
    expect(await sent('mine')).toContain('"extra_content":{"google":{"thought_signature":"c2ln"}}')
    expect(await sent('other')).not.toContain('c2ln')
  })

  it('MODEL-3 reads usage wherever it appears; the last one counts', async () => {
    const early = line({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 'many' } })
    const details = { cached_tokens: 6, cache_write_tokens: 2 }
    const last = line({ usage: { prompt_tokens: 10, completion_tokens: 3, prompt_tokens_details: details } })
    const usage = { inputTokens: 10, outputTokens: 3, cacheReadTokens: 6, cacheWriteTokens: 2 }
    expect(await hear(early + stop + last + done)).toMatchObject({ usage })
    expect(await hear(early + stop + done)).toMatchObject({ usage: { ...noUsage, inputTokens: 1 } })
  })

  it('MODEL-1 ignores unknown data', async () => {
    const odd = [null, 1, 'x', [], {}, { choices: {} }, { choices: [null] }, { choices: [{ delta: 'x' }] }]
    const deltas = [
      { content: 1 },
      { content: [null, 'x'] },
      { tool_calls: [null, {}] },
      { tool_calls: 'x' },
      { refusal: false },
    ]
    const noise = `: comment\n\nevent: ping\ndata: ping\n\ndata:\n\n${odd.map(line).join('')}${deltas.map((one) => delta(one)).join('')}`
    expect(await hear(noise + delta({ content: 'Hi' }) + noise + stop + noise + done)).toMatchObject({
      parts: [{ type: 'text', text: 'Hi' }],
      stopReason: 'end',
    })
  })

  it('MODEL-1 throws only model errors, whatever JSON arrives', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.json(), { maxLength: 5 }), fc.json(), async (values, inner) => {
        const chunks = [
          ...values,
          `{"choices":[{"delta":${inner}}]}`,
          `{"choices":[{"delta":{"tool_calls":[${inner}]}}]}`,
        ]
        const heard = hear(chunks.map((text) => `data: ${text}\n\n`).join('') + stop + done)
        await heard.catch((error: Error) => expect(error.name).toBe('ModelError'))
      }),
    )
  })

  it.each([
    ['without a reason', delta({ content: 'Hi' })],
    ['with [DONE] alone', done],
    ['in the middle of a line', `${delta({ content: 'Hi' })}data: {"choices":[{"del`],
    [
      'with a call that nobody named',
      delta({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }) + stop + done,
    ],
    ['before it began', ''],
  ])('LOOP-7 recognizes a stream that ends %s', async (_how, text) => {
    await expect(hear(text)).rejects.toMatchObject({ name: 'ModelError', code: 'cut', retryable: true })
  })

  it.each([
    [{ error: { message: 'Busy sk-the-owners-key', code: 503 } }, 'overloaded', true],
    [{ error: { message: 'Busy', type: 'rate_limit_error' } }, 'rate_limited', true],
    [{ error: { message: 'Busy', code: 'context_length_exceeded' } }, 'too_long', false],
    [{ error: 'Busy' }, 'overloaded', true],
    [{ object: 'error', message: 'Busy', code: 400 }, 'rejected', false],
  ])('LOOP-7 treats %j inside the stream as %s', async (failure, code, retryable) => {
    const failed = hear(delta({ content: 'Hi' }) + line(failure) + done)
    await expect(failed).rejects.toMatchObject({ code, retryable, message: expect.stringContaining('mine/main: Busy') })
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining('owners-key') })
  })

  it('MODEL-1 is done at [DONE], even if the server leaves the connection open', async () => {
    let cancelled = false
    const open = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true
      },
      start: (controller) => controller.enqueue(new TextEncoder().encode(delta({ content: 'Hi' }) + stop + done)),
    })
    expect(await hear(open)).toMatchObject({ stopReason: 'end' })
    expect(cancelled).toBe(false)
    await waitFor(() => expect(cancelled).toBe(true))
  })

  it('MODEL-1 counts every piece and every comment as activity', async () => {
    let signs = 0
    const onActivity = () => {
      signs += 1
    }
    await hear(`: waiting\n\n${delta({ content: 'Hi' })}${stop}${done}`, { ...request, onActivity })
    expect(signs).toBeGreaterThanOrEqual(4)
  })
})
