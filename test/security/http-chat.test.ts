import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ModelError } from '../../src/models/model.ts'
import { chatReplySchema } from '../../src/protocol/api.ts'
import { parseWire } from '../../src/protocol/operation.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { toolOf } from '../support/scripted-familiar.ts'
import { createScriptedModel, type Script } from '../support/scripted-model.ts'
import { readEvents, type ServedFamiliar } from './http-support.ts'
import { type ServeOptions, serveInTests } from './serve-in-tests.ts'

const serveWith = serveInTests()
function serve(script: Script, options: ServeOptions = {}): Promise<ServedFamiliar> {
  const clock = options.clock
  return serveWith({ model: createScriptedModel({ script, ...(clock && { clock }) }), ...options })
}

const echo = toolOf('echo', async (input) => ({ text: JSON.stringify(input), isError: false }))
const withTool: Script = (_request, call) =>
  call % 2 === 1 ? { text: 'Let me see.', toolCalls: [{ name: 'echo', input: { say: 'hi' } }] } : { text: 'Done.' }
const chat = '/api/v1/chat'
const events = { accept: 'text/event-stream' }

describe('chat as JSON', () => {
  it('HTTP-1 answers with the reply and its usage', async () => {
    const served = await serve(withTool, { tools: [echo] })
    const { status, json } = await served.call({ path: chat, body: { message: 'Hello' } })
    expect(status).toBe(200)
    expect(parseWire(chatReplySchema, json)).toMatchObject({
      reply: 'Done.',
      outcome: 'completed',
      pending_question: null,
      deliver: true,
      tool_calls: [{ name: 'echo', input: { say: 'hi' }, is_error: false }],
      model: 'scripted/main',
      rounds: 2,
      usage: { input_tokens: 200, output_tokens: 20 },
      cost_usd: 0.0009,
    })
  })

  it('HTTP-1 a session is named by its contact or its id, and an archived one takes nothing more', async () => {
    const served = await serve(() => ({ text: 'Hello.' }))
    const first = await served.call({ path: chat, body: { message: 'one', session: 'Anna Müller' } })
    const id = String(first.json.session_id)
    const second = await served.call({ path: chat, body: { message: 'two', session: id, channel: 'other' } })
    expect(second.json.session_id).toBe(id)
    await served.call({ path: '/api/v1/sessions/reset', body: { target: id } })
    expect((await served.call({ path: chat, body: { message: 'three', session: id } })).status).toBe(409)
    const anew = await served.call({ path: chat, body: { message: 'four', session: 'Anna Müller' } })
    expect(anew.json.session_id).not.toBe(id)
  })

  it('HTTP-1 stores attachments once and hands them to the model', async () => {
    const model = createScriptedModel({ script: () => ({ text: 'I see.' }) })
    const served = await serve([], { model })
    const image = { name: 'dot.png', media_type: 'Image/PNG', data: Buffer.from('png').toString('base64') }
    const body = { message: '', attachments: [image, image] }
    expect((await served.call({ path: chat, body })).status).toBe(200)
    const part = { type: 'media', mediaType: 'image/png', name: 'dot.png', bytes: 3 }
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({
      parts: expect.arrayContaining([expect.objectContaining(part)]),
    })
    expect(readdirSync(join(served.familiar.home, 'media'))).toHaveLength(1)
  })

  it('HTTP-2 a provider that fails is 502, with where to look', async () => {
    const error = new ModelError('rejected', 'no such model', { retryable: false, status: 404 })
    const served = await serve(() => ({ error }))
    const answer = await served.call({ path: chat, body: { message: 'Hello' } })
    expect(answer).toMatchObject({
      status: 502,
      json: { code: 'provider_error', session_id: expect.any(String), turn_id: expect.any(String) },
    })
    expect(answer.json.error).toMatch(/no such model/)
  })

  it('HTTP-2 a turn over the budget is an answer, not an error', async () => {
    const served = await serve(() => ({ text: 'Hello.' }), { toml: '[budget]\nper_day_usd = 0\n' })
    const { status, json } = await served.call({ path: chat, body: { message: 'Hello' } })
    expect({ status, outcome: json.outcome }).toEqual({ status: 200, outcome: 'budget' })
  })

  it('HTTP-2 a client that limits its wait gets 408, and the turn continues', async () => {
    const { clock, served, asked } = await serveSlowly(() => ({ text: 'At last.', delayMs: 60_000 }))
    const waiting = served.call({ path: `${chat}?timeout_seconds=5`, body: { message: 'Hello' } })
    await asked(1)
    await clock.advance(5_000)
    const answer = await waiting
    expect(answer).toMatchObject({ status: 408, json: { code: 'timeout' } })
    const ended = served.familiar.conversations.waitForTurn(String(answer.json.message_id))
    await clock.advance(60_000)
    expect(await ended).toMatchObject({ sessionId: answer.json.session_id, text: 'At last.' })
  })

  it('HTTP-2 a client that goes away does not stop its turn', async () => {
    const { clock, served, asked } = await serveSlowly((_request, call) => ({
      text: `Reply ${call}.`,
      delayMs: 60_000,
    }))
    const { signal, leave } = leaver()
    await expect(
      Promise.all([served.call({ path: chat, body: { message: 'one' }, signal }), asked(1).then(leave)]),
    ).rejects.toThrow()
    await clock.advance(60_000)
    const { request } = await served.open({ path: chat, body: { message: 'two' }, headers: events })
    await asked(2)
    request.destroy()
    await clock.advance(60_000)
    await until(() => served.familiar.conversations.load().running === 0)
    const history = await served.call({ path: '/api/v1/sessions/main/history' })
    const said = (history.json.events as { text: string }[]).map(({ text }) => text)
    expect(said).toEqual(['one', 'Reply 1.', 'two', 'Reply 2.'])
  })
})

describe('chat as events', () => {
  it('LOOP-5 streams the turn and ends with it', async () => {
    const served = await serve(withTool, { tools: [echo] })
    await served.call({ path: chat, body: { message: 'before' } })
    const { response } = await served.open({ path: chat, body: { message: 'Hello' }, headers: events })
    expect(response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    const received = await readEvents(response)
    expect(received.map(({ name }) => name)).toEqual([
      'message',
      'turn_start',
      'text_delta',
      'cost',
      'tool_start',
      'tool_result',
      'text_delta',
      'cost',
      'response',
      'turn_end',
    ])
    expect(received[0]?.data).toMatchObject({ type: 'message', text: 'Hello' })
    expect(received.at(-2)?.data).toMatchObject({ text: 'Done.', buildId: null, pendingQuestion: null })
    expect(response.headers['familiar-session-id']).toBeDefined()
  })

  it('HTTP-4 any of its ids resumes the session’s stream', async () => {
    const served = await serve(withTool, { tools: [echo] })
    const { response } = await served.open({ path: chat, body: { message: 'Hello' }, headers: events })
    const all = await readEvents(response)
    for (const [index, { id }] of all.slice(0, -1).entries()) {
      const resumed = await served.open({ path: '/api/v1/sessions/main/events', headers: { 'last-event-id': id } })
      const rest = await readEvents(resumed.response, ({ name }) => name === 'turn_end')
      expect(rest.map(({ data }) => data)).toEqual(all.slice(index + 1).map(({ data }) => data))
    }
  })

  it('SESS-3 a key that was used before returns its turn again', async () => {
    const served = await serve(() => ({ text: 'Hello.' }))
    const body = { message: 'Hello', key: 'k' }
    const first = await readEvents((await served.open({ path: chat, body, headers: events })).response)
    await served.call({ path: chat, body: { message: 'between' } })
    const again = await readEvents((await served.open({ path: chat, body, headers: events })).response)
    expect(again.map(({ data }) => data)).toEqual(first.map(({ data }) => data))
  })

  it('HTTP-2 a rejection before the first event is an ordinary error', async () => {
    const served = await serve(() => ({ text: 'Hello.' }))
    const answer = await served.call({ path: chat, body: { message: '' }, headers: events })
    expect(answer).toMatchObject({ status: 400, json: { code: 'bad_request' } })
  })

  it('SESS-8 a message that waits while its session is reset moves to the new one', async () => {
    const { clock, served, asked } = await serveSlowly((_request, call) => ({
      text: `Reply ${call}.`,
      delayMs: 10_000,
    }))
    const first = served.call({ path: chat, body: { message: 'one' } })
    await asked(1)
    const second = await served.open({ path: chat, body: { message: 'two' }, headers: events })
    await served.call({ path: '/api/v1/sessions/reset', body: { target: 'main' } })
    expect((await first).json.outcome).toBe('stopped')
    const telling = readEvents(second.response)
    await asked(2)
    await clock.advance(10_000)
    const names = (await telling).map(({ name }) => name)
    expect(names.slice(-2)).toEqual(['response', 'turn_end'])
  })
})

describe('the older path', () => {
  it('HTTP-1 POST /api/chat takes a message or a list and streams the four events', async () => {
    const served = await serve(withTool, { tools: [echo] })
    const messages = [
      { role: 'user', content: 'earlier' },
      { role: 'assistant', content: 'yes?' },
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    ]
    for (const body of [{ message: 'Hello' }, { messages }]) {
      const { response } = await served.open({ path: '/api/chat', body })
      const received = await readEvents(response)
      expect(received.map(({ name }) => name)).toEqual(['tool_start', 'tool_result', 'response'])
      expect(received.map(({ data }) => data)).toMatchObject([
        { name: 'echo', input: { say: 'hi' } },
        { name: 'echo', result: '{"say":"hi"}', isError: false },
        { text: 'Done.', buildId: null, pendingQuestion: null, toolCalls: [{ name: 'echo' }] },
      ])
    }
    const history = await served.call({ path: '/api/v1/sessions/main/history' })
    const said = (history.json.events as { role: string; text: string }[]).filter(({ role }) => role === 'user')
    expect(said.map(({ text }) => text)).toEqual([
      'Hello',
      expect.stringMatching(/user: earlier\nassistant: yes\?[\s\S]*Hello$/),
    ])
  })

  it('HTTP-1 POST /api/chat answers as JSON when asked to, and needs something to say', async () => {
    const served = await serve(() => ({ text: 'Hello.' }))
    const json = { accept: 'application/json' }
    const answer = await served.call({ path: '/api/chat', body: { message: 'Hello' }, headers: json })
    expect(answer.json).toMatchObject({ reply: 'Hello.' })
    const empty = await served.call({ path: '/api/chat', body: { messages: [{ role: 'assistant', content: 'x' }] } })
    expect(empty.status).toBe(400)
  })
})

describe('notify', () => {
  it('HTTP-1 answers 202 when the message is kept, once for one key', async () => {
    const clock = createManualClock()
    const served = await serve(() => ({ text: 'Hello.' }), { clock })
    const call = { path: '/api/v1/notify', body: { message: 'ping', source: 'system', key: 'n-1' } }
    const first = await served.call(call)
    expect(first).toMatchObject({ status: 202, json: { duplicate: false } })
    const again = await served.call(call)
    expect(again).toMatchObject({ status: 202, json: { ...first.json, duplicate: true } })
    const ended = served.familiar.conversations.waitForTurn(String(first.json.message_id))
    await clock.advance(1_000)
    expect(await ended).toMatchObject({ deliver: false, sessionId: first.json.session_id })
  })
})

/** With a clock that the test moves; `asked(n)` resolves when the model has been called for the nth time and waits. */
async function serveSlowly(script: Script) {
  const clock = createManualClock()
  const model = createScriptedModel({ script, clock })
  const served = await serve([], { model, clock })
  async function asked(calls: number) {
    await until(() => model.requests.length === calls)
    await new Promise(setImmediate)
  }
  return { clock, served, asked }
}

function leaver() {
  const controller = new AbortController()
  return { signal: controller.signal, leave: () => controller.abort() }
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 4 }).toBe(true)
}
