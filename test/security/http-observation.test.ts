import { describe, expect, it } from 'vitest'
import { createTelemetry, type EndedSpan } from '../../src/base/telemetry/telemetry.ts'
import { createWorkContext, logFieldsOf, type SpanContext } from '../../src/base/work.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { type ServeOptions, serveInTests } from './serve-in-tests.ts'

const serve = serveInTests()
/** Served so that the telemetry of each request can be inspected. */
async function serveWatched(options: ServeOptions = {}) {
  const work = createWorkContext()
  const spans: EndedSpan[] = []
  const lines: Record<string, unknown>[] = []
  const note = (message: string, fields?: object) =>
    void lines.push({ ...logFieldsOf(work.current()), ...fields, message })
  const logger = { debug: note, info: note, warn: note, error: note }
  const telemetry = createTelemetry({ work, onSpan: (span) => spans.push(span) })
  return { served: await serve({ ...options, telemetry, logger }), spans, lines, telemetry, work }
}

describe('health', () => {
  it('SCALE-8 says without a token that it lives and whether it takes work, and nothing else', async () => {
    let isReady = true
    const served = await serve({ isReady: async () => isReady })
    for (const path of ['/healthz', '/readyz']) {
      const answer = await served.call({ path, token: null })
      expect(answer).toMatchObject({ status: 200, text: '{"ok":true}' })
      expect((await served.call({ path, token: null, method: 'HEAD' })).status).toBe(200)
      // Not the page, which answers whatever a browser asks for otherwise.
      expect((await served.call({ path, token: null, headers: { accept: 'text/html' } })).text).toBe('{"ok":true}')
    }
    isReady = false
    expect((await served.call({ path: '/healthz', token: null })).status).toBe(200)
    expect(await served.call({ path: '/readyz', token: null })).toMatchObject({
      status: 503,
      json: { error: 'Not ready.', code: 'unavailable' },
    })
  })
})

describe('metrics', () => {
  it('SCALE-7 shows its figures to the owner alone, in the form that is asked for', async () => {
    const { served, telemetry } = await serveWatched()
    telemetry.add('familiar.turns', { 'familiar.turn.outcome': 'completed' })
    expect((await served.call({ path: '/metrics', token: null })).status).toBe(401)
    const { made } = await served.users.add({ name: 'max', scope: 'owner' })
    expect((await served.call({ path: '/metrics', token: made.token })).status).toBe(403)
    const reader = await served.tokenFor('read')
    const plain = await served.call({ path: '/metrics', token: reader })
    expect(plain).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    })
    expect(plain.text).toContain('familiar_turns_total{familiar_turn_outcome="completed"} 1\n')
    const accept = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5'
    const open = await served.call({ path: '/metrics', headers: { accept } })
    expect(open.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(open.text.endsWith('# EOF\n')).toBe(true)
  })

  it('SCALE-7 counts requests by the route and not by the path, and knows no other method than the usual ones', async () => {
    const { served } = await serveWatched()
    await served.call({ path: '/api/v1/sessions/zanzibar/history' })
    await served.call({ path: '/api/v1/memories/search?q=zanzibar' })
    await served.call({ path: '/zanzibar?q=zanzibar' })
    await served.call({ path: '/api/v1/monitor', token: null })
    await served.call({ path: '/api/v1/monitor', method: 'PROPFIND' })
    const { text } = await served.call({ path: '/metrics' })
    const counted = [...text.matchAll(/^http_server_request_duration_seconds_count\{(.*)\} (\d+)$/gm)]
    const labels = counted.map(([, inner]) =>
      inner?.replaceAll(/(http_|url_scheme="http"|request_|response_|"|,$)/g, ''),
    )
    expect(labels.map((line) => line?.replaceAll(/,+/g, ' ').trim()).sort()).toEqual([
      'method=GET route=/api/v1/memories/search status_code=200',
      'method=GET route=/api/v1/monitor status_code=401',
      'method=GET route=/api/v1/sessions/:id/history status_code=404',
      'method=GET route=_OTHER status_code=404',
      'method=_OTHER route=/api/v1/monitor status_code=405',
    ])
    expect(text).not.toContain('zanzibar')
  })
})

describe('the id of a request', () => {
  it('HTTP-2 SCALE-7 is the caller’s if valid, is returned with every response, and is in every log line', async () => {
    const { served, lines } = await serveWatched()
    const idOf = async (given: string) =>
      (await served.call({ path: '/api/v1/status', headers: { 'x-request-id': given } })).headers['x-request-id']
    expect(await idOf('from-the-proxy.1_2')).toBe('from-the-proxy.1_2')
    for (const wrong of ['', 'two words', 'x'.repeat(65), '-dash', 'a"b', 'ключ'.normalize()]) {
      const given = Buffer.from(wrong, 'utf8').toString('latin1')
      expect(await idOf(given), wrong).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    }
    const headers = { 'x-request-id': 'the-wrong-one' }
    await served.call({ path: '/api/v1/status', token: 'wrong', headers })
    expect(lines).toMatchObject([{ message: 'a request had a wrong token', request: 'the-wrong-one' }])
    const { database } = served.familiar
    await database.write(async (writer) => void (await writer.schema.dropTable('cost_ledger').execute()))
    const answer = await served.call({ path: '/api/v1/cost', headers: { 'x-request-id': 'number-7' } })
    expect(answer).toMatchObject({
      status: 500,
      headers: { 'x-request-id': 'number-7' },
      json: { request_id: 'number-7' },
    })
    expect(lines.at(-1)).toMatchObject({ message: 'a request failed', request: 'number-7' })
  })

  it('SCALE-7 a trace of the caller is continued through the work of the request', async () => {
    const seen: (SpanContext | undefined)[] = []
    const look = toolOf('look', async () => said('there'))
    const model = createScriptedModel({
      script: () => {
        seen.push(watched.work.current().span)
        return { text: 'Hello.' }
      },
    })
    const watched = await serveWatched({ model, tools: [look] })
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`
    await watched.served.call({ path: '/api/v1/chat', body: { message: 'Hello' }, headers: { traceparent } })
    const request = watched.spans.find(({ name }) => name === 'POST /api/v1/chat')
    expect(request).toMatchObject({ traceId, parentId: '00f067aa0ba902b7', kind: 'server', failure: undefined })
    expect(seen).toMatchObject([{ traceId }])
    expect(JSON.stringify(watched.spans)).not.toContain('Hello')
  })
})
