import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/models/model.ts'
import type { ClientCallsReply } from '../../src/protocol/api.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { createScriptedModel, type Script } from '../support/scripted-model.ts'
import { waitFor } from '../support/wait-for.ts'
import { type ServeOptions, serveInTests } from './serve-in-tests.ts'

const bell = {
  name: 'ring_bell',
  description: 'Rings the bell.',
  input_schema: { type: 'object', properties: { times: { type: 'integer' } } },
}

const serve = serveInTests()

function resultsIn(request: ModelRequest): string {
  const last = request.messages.at(-1)
  return last?.role === 'tool' ? last.results.map(({ text }) => text).join(' + ') : ''
}

/** Rings as often as the script says, and then tells the results. */
function ringing(...rounds: number[]): Script {
  return (request, call) => {
    const rings = rounds[call - 1] ?? 0
    const toolCalls = Array.from({ length: rings }, (_, index) => ({
      name: 'ring_bell',
      input: { times: index + 1 },
      id: `call-${call}-${index}`,
    }))
    return rings > 0 ? { text: 'I rang it!', toolCalls } : { text: `told: ${resultsIn(request)}` }
  }
}

async function open(script: Script, options: ServeOptions = {}) {
  const model = createScriptedModel({ script })
  const served = await serve({ model, ...options })
  const post = (path: string, body: unknown, token?: string) =>
    served.call({ method: 'POST', path, body, ...(token && { token }) })
  return {
    ...served,
    model,
    post,
    chat: (more: object = {}) => post('/api/v1/chat', { message: 'Ring!', client_tools: [bell], ...more }),
    give: (session: unknown, results: unknown) => post(`/api/v1/sessions/${session}/tool-results`, { results }),
  }
}

describe('CLIENT-1 a tool that the client runs', () => {
  it('CLIENT-1 is sent to the client, and nothing is said before its result', async () => {
    const scene = await open(ringing(1))
    const asked = await scene.chat()
    expect(asked).toMatchObject({
      status: 200,
      json: {
        reply: '',
        tool_calls: [{ id: 'call-1-0', name: 'ring_bell', arguments: { times: 1 } }],
        meta: { has_tool_calls: true },
      },
    })
    expect(asked.text).not.toContain('I rang it')
    expect(scene.model.requests).toHaveLength(1)
    expect(scene.model.requests[0]?.tools.at(-1)).toEqual({
      name: 'ring_bell',
      description: bell.description,
      inputSchema: bell.input_schema,
    })
    const end = await scene.give(asked.json.session_id, [{ call_id: 'call-1-0', result: { rang: true } }])
    expect(end.json).toMatchObject({ reply: 'told: {"rang":true}', meta: { has_tool_calls: false } })
    const next = await scene.post('/api/v1/chat', { message: 'And now?' })
    expect(next.status).toBe(200)
    expect(scene.model.requests.at(-1)?.tools.map(({ name }) => name)).not.toContain('ring_bell')
  })

  it('CLIENT-1 calls made together are sent together; the rest is sent again after some results', async () => {
    const scene = await open(ringing(2, 1))
    const asked = await scene.chat()
    const session = asked.json.session_id
    expect(idsIn(asked.json)).toEqual(['call-1-0', 'call-1-1'])
    const rest = await scene.give(session, [{ call_id: 'call-1-1', result: 'second' }])
    expect(idsIn(rest.json)).toEqual(['call-1-0'])
    const more = await scene.give(session, [{ call_id: 'call-1-0', result: 'first', is_error: true }])
    expect(idsIn(more.json)).toEqual(['call-2-0'])
    expect(resultsIn(scene.model.requests[1] as ModelRequest)).toBe('first + second')
    const end = await scene.give(session, [{ call_id: 'call-2-0', result: 'third' }])
    expect(end.json.reply).toBe('told: third')
  })

  it('CLIENT-1 comes as an event on a stream, and the stream continues', async () => {
    const scene = await open(ringing(1))
    const { response } = await scene.open({
      method: 'POST',
      path: '/api/v1/chat',
      headers: { accept: 'text/event-stream' },
      body: { message: 'Ring!', client_tools: [bell] },
    })
    const session = String(response.headers['familiar-session-id'])
    let text = ''
    let isGiven = false
    for await (const chunk of response) {
      text += chunk
      if (isGiven || !text.includes('"type":"tool_calls"')) continue
      isGiven = true
      expect(text).toContain('"toolCalls":[{"id":"call-1-0","name":"ring_bell","arguments":{"times":1}}]')
      const given = await scene.give(session, [{ call_id: 'call-1-0', result: 'ding' }])
      expect(given.status).toBe(200)
    }
    expect(text).toContain('told: ding')
    expect(text.indexOf('told: ding')).toBeGreaterThan(text.indexOf('"type":"tool_result"'))
  })

  it('CLIENT-1 a client that never answers is reported to the model, and a late result is rejected', async () => {
    const clock = createManualClock()
    const scene = await open(ringing(1), { clock })
    const asked = await scene.chat()
    await clock.advance(60_000)
    await waitFor(() => expect(scene.model.requests).toHaveLength(2))
    expect(resultsIn(scene.model.requests[1] as ModelRequest)).toContain('no result within 60 seconds')
    const late = await scene.give(asked.json.session_id, [{ call_id: 'call-1-0', result: 'ding' }])
    expect(late).toMatchObject({ status: 409, json: { code: 'conflict' } })
    expect(late.json.error).toContain('after its timeout')
  })

  it('CLIENT-1 a second result is refused, and the first one counts', async () => {
    const scene = await open(ringing(2))
    const asked = await scene.chat()
    const session = asked.json.session_id
    const twice = { call_id: 'call-1-0', result: 'second' }
    expect(await scene.give(session, [twice, twice])).toMatchObject({ status: 409 })
    await scene.give(session, [{ call_id: 'call-1-0', result: 'first' }])
    const again = await scene.give(session, [{ call_id: 'call-1-0', result: 'second' }])
    expect(again).toMatchObject({ status: 409, json: { code: 'conflict' } })
    const both = [
      { call_id: 'call-1-1', result: 'lost' },
      { call_id: 'call-1-0', result: 'second' },
    ]
    expect(await scene.give(session, both)).toMatchObject({ status: 409 })
    const end = await scene.give(session, [{ call_id: 'call-1-1', result: 'other' }])
    expect(end.json.reply).toBe('told: first + other')
  })

  it('CLIENT-1 SEC-22 a result for another call, session or user is refused, and nothing is lost', async () => {
    const scene = await open(ringing(1))
    const asked = await scene.chat()
    const session = asked.json.session_id
    const other = await scene.post('/api/v1/chat', { message: 'Hello', session: 'other' })
    const result = { call_id: 'call-1-0', result: 'stolen' }
    expect(await scene.give(session, [{ ...result, call_id: 'call-9' }])).toMatchObject({ status: 404 })
    expect(await scene.give(other.json.session_id, [result])).toMatchObject({ status: 404 })
    expect(await scene.give('no-such-session', [result])).toMatchObject({ status: 404 })
    await scene.familiar.database.write(async (writer) => {
      await writer.insertInto('users').values({ id: 'ben', name: 'Ben', role: 'user', created_at: 1 }).execute()
    })
    const stranger = await scene.tokenFor('chat', 'ben')
    const path = `/api/v1/sessions/${session}/tool-results`
    expect(await scene.post(path, { results: [result] }, stranger)).toMatchObject({ status: 404 })
    const spawns = await scene.call({ path: `/api/v1/sessions/${session}/spawns`, token: stranger })
    expect(spawns.status).toBe(404)
    const end = await scene.give(session, [{ ...result, result: 'ding' }])
    expect(end.json.reply).toBe('told: ding')
  })

  it('CLIENT-1 a result of 20 MB is refused, and a smaller one can follow', async () => {
    const scene = await open(ringing(1), { settings: { maxBodyBytes: 2 * 1024 * 1024 } })
    const asked = await scene.chat()
    const huge = await scene.give(asked.json.session_id, [{ call_id: 'call-1-0', result: 'x'.repeat(20_000_000) }])
    expect(huge).toMatchObject({ status: 413, json: { code: 'payload_too_large' } })
    const large = await scene.give(asked.json.session_id, [{ call_id: 'call-1-0', result: 'y'.repeat(1_000_000) }])
    expect(large.status).toBe(200)
    expect(resultsIn(scene.model.requests[1] as ModelRequest).length).toBeLessThan(40_000)
  })

  it('CLIENT-1 SEC-14 tools that cannot be: names of ours, twice the same, no schema, a deep one', async () => {
    const scene = await open(ringing())
    let deep: object = { type: 'string' }
    for (let level = 0; level < 40; level += 1) deep = { type: 'object', properties: { deep } }
    for (const tools of [
      [{ ...bell, name: 'ask_user' }],
      [bell, bell],
      [{ ...bell, name: 'ring bell' }],
      [{ ...bell, input_schema: { type: 'string' } }],
      [{ ...bell, input_schema: deep }],
      [{ ...bell, more: true }],
    ]) {
      expect(await scene.chat({ client_tools: tools })).toMatchObject({ status: 400, json: { code: 'bad_request' } })
    }
    expect(scene.model.requests).toHaveLength(0)
  })

  it('SEC-6 a result marks the session: private always, untrusted if the client says so', async () => {
    for (const untrusted of [false, true]) {
      const scene = await open(ringing(1, 1))
      const asked = await scene.chat()
      const result = { call_id: 'call-1-0', result: 'Ring again!', untrusted }
      const next = await scene.give(asked.json.session_id, [result])
      // With both in view, the next call of a tool that may do anything needs approval.
      expect(next.json).toMatchObject(untrusted ? { outcome: 'question' } : { meta: { has_tool_calls: true } })
    }
  })

  it('SEC-17 background sessions accept no messages', async () => {
    const scene = await open(ringing())
    for (const place of [{ channel: 'subagent' }, { source: 'subagent' }, { channel: 'builder' }]) {
      expect(await scene.chat(place)).toMatchObject({ status: 400 })
    }
  })

  it('CLIENT-1 the example of the documentation', async () => {
    const scene = await open(ringing(1))
    const page = readFileSync(join(import.meta.dirname, '../../docs/client-tools.md'), 'utf8')
    const script = /```sh\n(call\(\)[\s\S]*?)```/.exec(page)?.[1] ?? ''
    const { stdout } = await promisify(execFile)('/bin/sh', ['-eu', '-c', script], {
      env: { PATH: process.env.PATH, FAMILIAR_URL: scene.server.url, FAMILIAR_TOKEN: scene.owner.token },
    })
    expect(stdout).toContain('told: It rang.')
  })
})

function idsIn(reply: Record<string, unknown>): string[] {
  return (reply as unknown as ClientCallsReply).tool_calls.map(({ id }) => id)
}
