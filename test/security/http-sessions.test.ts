import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as api from '../../src/protocol/api.ts'
import { parseWire } from '../../src/protocol/operation.ts'
import { toolOf } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const wait = toolOf('wait', (_input, { signal }) => {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
})

describe('sessions and reports over HTTP', () => {
  let served: ServedFamiliar
  beforeAll(async () => {
    const model = createScriptedModel({
      script: ({ messages }) => {
        const isSlow = JSON.stringify(messages.at(-1)).includes('slow')
        return isSlow ? { toolCalls: [{ name: 'wait' }] } : { text: 'Hello.' }
      },
    })
    served = await serveFamiliar({ model, tools: [wait] })
  })
  afterAll(() => served.close())

  const get = (path: string) => served.call({ path: `/api/v1/${path}` })
  const post = (path: string, body: object) => served.call({ path: `/api/v1/${path}`, body })
  const say = (message: string, session = 'main') => post('chat', { message, session })

  it('HTTP-1 GET /sessions lists the active ones, and with archived=true all', async () => {
    await say('one', 'anna')
    await say('two', 'ben')
    const listed = parseWire(api.sessionsReplySchema, (await get('sessions')).json)
    expect(listed.sessions.map(({ contact, channel, state }) => ({ contact, channel, state }))).toEqual([
      { contact: 'ben', channel: 'http', state: 'active' },
      { contact: 'anna', channel: 'http', state: 'active' },
    ])
  })

  it('SESS-8 POST /sessions/reset archives by contact, by id and all of them', async () => {
    const { json } = await say('three', 'carl')
    const reset = async (target: string) => {
      const { archived } = parseWire(api.resetReplySchema, (await post('sessions/reset', { target })).json)
      return archived.map(({ contact }) => contact)
    }
    expect(await reset('anna')).toEqual(['anna'])
    expect(await reset(String(json.session_id))).toEqual(['carl'])
    expect(await reset('all')).toEqual(['ben'])
    expect((await get('sessions')).json).toEqual({ sessions: [] })
    const all = parseWire(api.sessionsReplySchema, (await get('sessions?archived=true')).json)
    expect(all.sessions.map(({ state }) => state)).toEqual(['archived', 'archived', 'archived'])
  })

  it('HTTP-1 GET /sessions/:id/history returns the messages, in pages, and in full every event', async () => {
    await say('first', 'dora')
    await say('second', 'dora')
    const said = parseWire(api.historyReplySchema, (await get('sessions/dora/history')).json)
    expect(said.events.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'first'],
      ['assistant', 'Hello.'],
      ['user', 'second'],
      ['assistant', 'Hello.'],
    ])
    expect(said.events.every((event) => event.data === undefined)).toBe(true)
    const full: api.HistoryEvent[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page: api.HistoryReply = parseWire(
        api.historyReplySchema,
        (await get(`sessions/dora/history?full=true&limit=3&after=${after}`)).json,
      )
      expect(page.events.length).toBeLessThanOrEqual(3)
      full.push(...page.events)
      after = page.next_after
    }
    expect(full.map(({ seq }) => seq)).toEqual(full.map((_event, index) => index + 1))
    expect(new Set(full.map(({ type }) => type))).toEqual(
      new Set(['message_received', 'turn_started', 'model_responded', 'turn_ended']),
    )
    expect(full[0]?.data).toMatchObject({ text: 'first', source: 'http' })
  })

  it('LOOP-8 POST /sessions/:id/stop ends the running turn', async () => {
    expect((await post('sessions/dora/stop', {})).json).toEqual({ stopped: false })
    const running = say('slow', 'dora')
    await expect
      .poll(async () => (await post('sessions/dora/stop', {})).json, { interval: 5 })
      .toEqual({ stopped: true })
    expect((await running).json).toMatchObject({ outcome: 'stopped' })
  })

  it('LOOP-8 a message that waits is listed, and canceled before its turn it is never answered', async () => {
    const queued = async () => parseWire(api.queueReplySchema, (await get('sessions/gustav/queue')).json).messages
    const cancel = (id: string) => served.call({ method: 'DELETE', path: `/api/v1/sessions/gustav/queue/${id}` })
    const notify = async (message: string, key?: string) => {
      const { json } = await post('notify', { message, session: 'gustav', source: 'web', ...(key && { key }) })
      return String(json.message_id)
    }
    await say('first', 'gustav')
    expect(await queued()).toEqual([])
    const running = say('slow', 'gustav')
    await expect.poll(async () => (await get('monitor')).json.turns).toHaveLength(1)
    const unwanted = await notify('never mind', 'key-1')
    const wanted = await notify('wanted')
    expect((await queued()).map(({ message_id, message }) => [message_id, message])).toEqual([
      [unwanted, 'never mind'],
      [wanted, 'wanted'],
    ])
    expect(await cancel(unwanted)).toMatchObject({ status: 200, json: { canceled: true } })
    expect((await cancel(unwanted)).status).toBe(200)
    expect((await cancel('nothing')).status).toBe(404)
    // The same key sent again does not bring it back.
    expect(await notify('never mind', 'key-1')).toBe(unwanted)
    expect((await queued()).map(({ message }) => message)).toEqual(['wanted'])
    await post('sessions/gustav/stop', {})
    await running
    const history = async () => parseWire(api.historyReplySchema, (await get('sessions/gustav/history?limit=100')).json)
    await expect
      .poll(async () => (await history()).events.map(({ text }) => text).slice(-2))
      .toEqual(['wanted', 'Hello.'])
    expect((await history()).events.map(({ text }) => text)).not.toContain('never mind')
    expect((await cancel(wanted)).status).toBe(409)
  })

  it('LOOP-8 a message that is canceled while its turn begins is either answered or canceled, never both', async () => {
    for (let index = 0; index < 24; index += 1) {
      const session = `heidi-${index}`
      await say('first', session)
      const { json } = await post('notify', { message: 'maybe', session, source: 'web' })
      // Each time a little later: before, while and after its turn begins.
      for (let step = 0; step < index; step += 1) await get(`sessions/${session}/queue`)
      const path = `/api/v1/sessions/${session}/queue/${String(json.message_id)}`
      const { status } = await served.call({ method: 'DELETE', path })
      expect([200, 409]).toContain(status)
      await say('last', session)
      const { events } = parseWire(api.historyReplySchema, (await get(`sessions/${session}/history?limit=100`)).json)
      expect(events.map(({ text }) => text)).toEqual([
        'first',
        'Hello.',
        ...(status === 409 ? ['maybe', 'Hello.'] : []),
        'last',
        'Hello.',
      ])
    }
  })

  it('SESS-8 mark, rewind and fork', async () => {
    await say('kept', 'erna')
    expect((await post('sessions/erna/mark', { name: 'here' })).json).toMatchObject({ name: 'here' })
    await say('dropped', 'erna')
    expect((await post('sessions/erna/rewind', { mark: 'here' })).status).toBe(200)
    expect((await post('sessions/erna/rewind', { mark: 'nowhere' })).status).toBe(404)
    expect((await post('sessions/erna/rewind', { turns: 99 })).status).toBe(400)
    for (const body of [{}, { mark: 'here', turns: 1 }, { turns: 0 }, { turns: 1.5 }]) {
      expect((await post('sessions/erna/rewind', body)).status).toBe(400)
    }
    const forked = await post('sessions/erna/fork', { contact: 'erna-2' })
    expect(forked.status).toBe(201)
    expect(parseWire(api.sessionReplySchema, forked.json)).toMatchObject({ contact: 'erna-2', state: 'active' })
    expect((await post('sessions/erna/fork', { contact: 'all' })).status).toBe(400)
    expect((await post('sessions/erna/rewind', { turns: 1 })).status).toBe(200)
  })

  it('HTTP-1 compact, context, cost, monitor', async () => {
    await say('Hello', 'fritz')
    expect((await post('sessions/fritz/compact', {})).json).toEqual({ compacted: false })
    const context = parseWire(api.contextReplySchema, (await get('sessions/fritz/context')).json)
    expect(context.blocks.length).toBeGreaterThan(0)
    for (const period of ['today', 'week', 'month', 'all']) {
      const cost = parseWire(api.costReplySchema, (await get(`cost?period=${period}`)).json)
      expect(cost).toMatchObject({ period, unpriced_calls: 0 })
      expect(cost.calls).toBeGreaterThan(0)
    }
    expect(parseWire(api.costReplySchema, (await get('cost')).json).period).toBe('today')
    expect(parseWire(api.monitorReplySchema, (await get('monitor')).json)).toMatchObject({ state: 'idle', turns: [] })
  })

  it('HTTP-2 GET /status without a token is health only, with one it has the figures', async () => {
    const health = await served.call({ path: '/api/v1/status', token: null })
    expect(health.json).toEqual({ ok: true, name: 'Familiar', version: '0.0.0', uptime_seconds: 1 })
    const status = parseWire(api.statusReplySchema, (await get('status')).json)
    expect(status.stats).toMatchObject({ model: 'scripted/main', turns_running: 0, messages_waiting: 0 })
    expect(status.stats?.calls_today).toBeGreaterThan(0)
  })

  it('HTTP-3 GET /openapi.json describes every route with the schemas that check it', async () => {
    const { json } = await get('openapi.json')
    const paths = json.paths as Record<string, Record<string, { requestBody?: object }>>
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.sort()).toEqual(
      served.routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
    )
    const references = new Set(JSON.stringify(json).match(/#\/[^"]*/g))
    const schemas = (json.components as { schemas: Record<string, object> }).schemas
    for (const reference of references) expect(schemas).toHaveProperty(reference.replace('#/components/schemas/', ''))
    expect(schemas.MessageRequest).toMatchObject({ required: ['message'], additionalProperties: false })
    expect(paths['/api/v1/chat']?.post?.requestBody).toMatchObject({
      content: { 'application/json': { schema: { $ref: '#/components/schemas/MessageRequest' } } },
    })
  })
})
