import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type GuardName, guardNames } from '../../src/http/guards.ts'
import { FamiliarError } from '../../src/protocol/errors.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { bashTool } from '../support/published-tools.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { skillText } from '../support/skills.ts'
import { pathOf, type ServedFamiliar } from './http-support.ts'
import { putOut } from './put-out.ts'
import { untilSearchable } from './raw-tables.ts'
import { askBySecretLink } from './secret-link.ts'
import { serveInTests } from './serve-in-tests.ts'

const serve = serveInTests()
const monitor = { path: '/api/v1/monitor' }
const without = (guard: GuardName) => ({ without: guard })

describe('Host', () => {
  it('SEC-2 answers to its own names with any port, and to those that are configured', async () => {
    const served = await serve({ settings: { allowedHosts: ['familiar.example', 'other.example:8443'] } })
    const allowed = ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.0.0.1:9', '[::1]', '[::1]:8100']
    const configured = ['familiar.example', 'familiar.example:443', 'other.example:8443']
    const refused = ['localhost.', 'localhost.attacker.example', '127.0.0.1.attacker.example', 'attacker.example']
    const disguised = ['127.0.0.2', '0.0.0.0', '[::]', '2130706433', 'other.example', 'other.example:1']
    for (const host of [...allowed, ...configured]) {
      expect((await served.call({ ...monitor, headers: { host } })).status, host).toBe(200)
    }
    for (const host of [...refused, ...disguised]) {
      expect((await served.call({ ...monitor, headers: { host } })).status, host).toBe(403)
    }
    for (const host of ['[::ffff:127.0.0.1]', 'a@127.0.0.1', 'localhost:port', 'local host', 'localhost/api']) {
      expect([400, 403], host).toContain((await served.call({ ...monitor, headers: { host } })).status)
    }
  })

  it('SEC-2 a request to a whole URL is judged by that URL as well', async () => {
    const served = await serve()
    expect((await served.call({ path: 'http://attacker.example/api/v1/monitor' })).status).toBe(403)
    expect((await served.call({ path: 'http://localhost/api/v1/monitor' })).status).toBe(200)
  })
})

describe('Origin', () => {
  it('SEC-2 accepts its own page and configured origins, and no other port', async () => {
    const served = await serve({ settings: { allowedOrigins: ['https://page.example/'] } })
    const own = `http://127.0.0.1:${served.server.port}`
    const status = async (origin: string) => (await served.call({ ...monitor, headers: { origin } })).status
    expect(await status(own)).toBe(200)
    expect(await status('https://page.example')).toBe(200)
    const foreign = [
      `http://localhost:${served.server.port}`,
      'http://127.0.0.1:1',
      'https://page.example.org',
      'null',
      '',
    ]
    for (const origin of foreign) expect(await status(origin), origin).toBe(403)
  })

  it('SEC-2 an upgrade to a WebSocket passes the same guards', async () => {
    const served = await serve()
    const upgrade = {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'x',
      'sec-websocket-version': '13',
    }
    const answer = await served.call({ ...monitor, headers: { ...upgrade, origin: 'https://attacker.example' } })
    expect(answer.status).toBe(403)
  })

  it('SEC-2 no answer carries a CORS header, whatever is asked for', async () => {
    const served = await serve()
    const headers = { origin: `http://127.0.0.1:${served.server.port}`, 'access-control-request-method': 'POST' }
    for (const method of ['OPTIONS', 'GET']) {
      const answer = await served.call({ ...monitor, method, headers })
      expect(Object.keys(answer.headers).join(' ')).not.toContain('access-control')
      expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
    }
  })
})

describe('rate limit', () => {
  it('SEC-3 counts every request from an address, loopback too, and says when to come back', async () => {
    const clock = createManualClock()
    const served = await serve({ clock, requestsPerMinute: 3 })
    const forwarded = { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '203.0.113.9', forwarded: 'for=203.0.113.9' }
    for (let i = 0; i < 3; i++) expect((await served.call(monitor)).status).toBe(200)
    const refused = await served.call({ ...monitor, headers: forwarded })
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' }, headers: { 'retry-after': '20' } })
    expect((await served.call({ path: '/api/v1/status', token: null })).status).toBe(429)
    await clock.advance(20_000)
    expect((await served.call(monitor)).status).toBe(200)
  })

  it('SEC-3 without the guard "rate_limit" nothing is counted', async () => {
    const served = await serve({ requestsPerMinute: 3, ...without('rate_limit') })
    for (let i = 0; i < 6; i++) expect((await served.call(monitor)).status).toBe(200)
  })
})

describe('tokens', () => {
  it('SEC-3 wrong tokens are counted more strictly, and then even the right one has to wait if it could be guessed', async () => {
    const clock = createManualClock()
    const served = await serve({ clock, failuresPerMinute: 3 })
    await served.tokens.setEnvironmentToken(served.familiar.userId, 'letmein')
    for (let i = 0; i < 3; i++) expect((await served.call({ ...monitor, token: `guess${i}` })).status).toBe(401)
    expect(await served.call({ ...monitor, token: 'guess4' })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '20' },
    })
    expect((await served.call({ ...monitor, token: 'letmein' })).status).toBe(429)
    expect((await served.call({ ...monitor, token: null })).status).toBe(401)
    await clock.advance(20_000)
    expect((await served.call({ ...monitor, token: 'letmein' })).status).toBe(200)
  })

  it('SEC-3 the holder of an unguessable token is not locked out by another’s wrong ones', async () => {
    const served = await serve({ clock: createManualClock(), failuresPerMinute: 1 })
    for (let i = 0; i < 3; i++) await served.call({ ...monitor, token: 'guess' })
    expect((await served.call(monitor)).status).toBe(200)
  })

  it('SEC-3 without the guard "failed_logins" guessing is possible', async () => {
    const served = await serve({ failuresPerMinute: 1, ...without('failed_logins') })
    for (let i = 0; i < 5; i++) expect((await served.call({ ...monitor, token: 'guess' })).status).toBe(401)
  })

  it('SEC-3 rotation and revocation work on the next request', async () => {
    const served = await serve()
    const next = await served.tokens.rotate(served.owner.tokenId)
    expect((await served.call(monitor)).status).toBe(401)
    expect((await served.call({ ...monitor, token: next?.token ?? '' })).status).toBe(200)
    await served.tokens.revoke(next?.tokenId ?? '')
    expect((await served.call({ ...monitor, token: next?.token ?? '' })).status).toBe(401)
  })

  it('SEC-3 only a bearer token in its header counts', async () => {
    const served = await serve()
    const { token } = served.owner
    const basic = `Basic ${Buffer.from(`user:${token}`).toString('base64')}`
    for (const authorization of [
      basic,
      token,
      'Bearer',
      'Bearer ',
      `Bearer ${token} x`,
      `Bearer ${'x'.repeat(2000)}`,
    ]) {
      expect((await served.call({ ...monitor, token: null, headers: { authorization } })).status).toBe(401)
    }
    const headers = { cookie: `token=${token}`, 'x-api-key': token, 'x-token': token }
    expect((await served.call({ ...monitor, token: null, headers })).status).toBe(401)
  })
})

describe('scopes', () => {
  it('HTTP-2 a token that may only read may do every GET and nothing else; one that may chat may speak and stop', async () => {
    const served = await serve()
    await served.familiar.say('Hello')
    for (const scope of ['read', 'chat'] as const) {
      const token = await served.tokenFor(scope)
      for (const route of served.routes) {
        if ((route.events && route.method === 'GET') || route.auth === 'signature' || route.auth === 'link') continue
        const { status } = await served.call({ method: route.method, path: pathOf(route, 'main'), token })
        // Tool by tool: mcp-server.test.ts. The code of a link is its own right.
        if (route.path === '/mcp' || route.path === '/api/v1/sign-in') continue
        const allowed = !route.isLocal && (route.method === 'GET' || (scope === 'chat' && route.scope === 'chat'))
        expect(status === 403, `${scope} ${route.method} ${route.path}`).toBe(!allowed)
      }
    }
    const chat = served.routes.filter((route) => route.scope === 'chat').map((route) => route.path)
    expect(new Set(chat)).toEqual(
      new Set([
        '/api/v1/chat',
        '/api/v1/notify',
        '/api/chat',
        '/api/v1/approvals/:id',
        '/api/v1/sessions/:id/stop',
        '/api/v1/sessions/:id/queue/:message',
        '/api/v1/sessions/:id/tool-results',
        '/api/v1/memories/deep',
        '/api/v1/capabilities/:name/run',
        '/api/v1/capabilities/:name/repair',
        '/api/v1/builds/questions/:id',
        '/api/v1/builds/questions/:id/secret',
        '/api/v1/builds/:id/stop',
        '/api/v1/schedules',
        '/api/v1/schedules/preview',
        '/api/v1/schedules/heartbeat',
        '/api/v1/schedules/:id',
        '/api/v1/schedules/:id/run',
        '/api/v1/outbox/:id/retry',
        '/api/v1/outbox/:id/cancel',
        '/api/v1/telemetry',
        '/api/v1/sign-out',
        '/api/v1/messages',
        '/api/v1/permissions/:id',
        '/api/v1/sessions/:id/permissions',
        '/api/v1/sessions/:id/read',
        '/api/v1/sessions/:id/title',
        '/api/v1/sessions/:id/resend',
        '/api/v1/sessions/:id/branch',
        '/api/v1/sessions/:id/pin',
        '/api/v1/sessions/:id/branches/:message',
        '/api/v1/sessions/folder',
        '/api/v1/folders',
        '/api/v1/folders/:id',
        '/v1/audio/speech',
        '/v1/audio/transcriptions',
        '/v1/completions',
        '/v1/chat/completions',
        '/v1/responses',
        '/v1/responses/:id',
        '/v1/embeddings',
        '/api/v1/voice/transcribe',
        '/api/v1/voice/speak',
        '/api/v1/voice/warm',
        '/api/v1/page/card',
      ]),
    )
  })

  it('HTTP-2 without the guard "scope" a token that may only read may reset', async () => {
    const served = await serve(without('scope'))
    const token = await served.tokenFor('read')
    const call = { path: '/api/v1/sessions/reset', body: { target: 'all' }, token }
    expect((await served.call(call)).status).toBe(200)
  })

  it('SEC-22 only the owner sees and changes shared data, whatever another user’s token allows', async () => {
    const served = await serve()
    const { made } = await served.users.add({ name: 'Ben', scope: 'owner' })
    const owners = served.routes.filter(({ isOwners }) => isOwners)
    for (const { method, path } of owners) {
      const answer = await served.call({ method, path: pathOf({ path }, 'main'), token: made.token })
      expect({ path, status: answer.status, error: answer.json.error }).toEqual({
        path,
        status: 403,
        error: 'This is only available to the owner of this home.',
      })
    }
    expect(owners.filter(({ isLocal }) => !isLocal).map(({ path }) => path)).toEqual([
      '/api/v1/doctor',
      '/api/v1/doctor',
      '/api/v1/settings',
      '/api/v1/reload',
      '/api/v1/tools/:name/enable',
      '/api/v1/tools/:name/disable',
      '/api/v1/tools/:name/reload',
      '/api/v1/schedules/heartbeat',
      '/api/v1/skills',
      '/api/v1/skills/reload',
      '/api/v1/skills/:name',
      '/api/v1/skills/:name/disable',
      '/api/v1/mcp',
      '/api/v1/mcp/refresh',
      '/api/v1/users',
      '/metrics',
    ])
  })

  it('SEC-22 without the guard "owner" another user may look at the owner’s servers', async () => {
    const served = await serve(without('owner'))
    const { made } = await served.users.add({ name: 'Ben', scope: 'owner' })
    expect((await served.call({ path: '/api/v1/mcp', token: made.token })).status).toBe(200)
  })

  it('SEC-22 a session of another user is unknown to every route', async () => {
    const served = await serve()
    const mine = await served.familiar.say('Hello')
    const { database } = served.familiar
    await database.write(async (writer) => {
      const row = { id: 'user-2', name: 'Ben', role: 'user', created_at: 0 } as const
      await writer.insertInto('users').values(row).execute()
    })
    const token = await served.tokenFor('owner', 'user-2')
    const bodies: Record<string, object> = {
      '/api/v1/sessions/:id/permissions': { mode: 'strict' },
      '/api/v1/sessions/:id/mark': { name: 'here' },
      '/api/v1/sessions/:id/rewind': { turns: 1 },
      '/api/v1/sessions/:id/fork': { contact: 'copy' },
      '/api/v1/sessions/:id/tool-results': { results: [{ call_id: 'call', result: 'x' }] },
      '/api/v1/sessions/:id/read': { seq: 1 },
      '/api/v1/sessions/:id/title': { title: 'Mine' },
      '/api/v1/sessions/:id/resend': { message_id: 'm', message: 'x' },
      '/api/v1/sessions/:id/branch': { message_id: 'm' },
      '/api/v1/sessions/:id/pin': { pinned: true },
    }
    for (const route of served.routes.filter(({ path }) => path.startsWith('/api/v1/sessions/:id'))) {
      for (const name of [mine.sessionId, 'main']) {
        const body = ['GET', 'DELETE'].includes(route.method) ? undefined : (bodies[route.path] ?? {})
        const path = pathOf(route, name) + (route.path.endsWith('/mention') ? '?name=%40notes.md' : '')
        const answer = await served.call({ method: route.method, path, token, body })
        expect({ path: route.path, status: answer.status }).toEqual({ path: route.path, status: 404 })
      }
    }
    const reset = { path: '/api/v1/sessions/reset', token }
    expect((await served.call({ ...reset, body: { target: mine.sessionId } })).status).toBe(404)
    const chat = { path: '/api/v1/chat', token, body: { message: 'Hello', session: mine.sessionId } }
    expect((await served.call(chat)).status).toBe(404)
    expect((await served.call({ path: '/api/v1/sessions', token })).json).toEqual({ sessions: [] })
  })
})

describe('the server itself', () => {
  it('SEC-2 GET never changes anything', async () => {
    const served = await serve({ folderTools: { mail: bashTool('mail', 'true') }, skills: { mail: skillText('mail') } })
    await served.familiar.say('Hello')
    const { database, userId } = served.familiar
    const { memory } = await served.familiar.memory.memories.add({
      userId,
      kind: 'note',
      content: 'The spare key is with Ruth',
      source: 'user',
    })
    for (const description of ['Sends a letter', 'Sends a long letter']) {
      const manifest = greeterManifest({ name: 'mail', description })
      await served.capabilities.publish(userId, greeterFiles({ 'manifest.json': manifest }))
    }
    const build = await served.capabilities.requestBuild(userId, 'weather')
    const planned = { message: 'Water the plants', at: '2099-01-01T09:00', session: 'main' }
    const { json: schedule } = await served.call({ path: '/api/v1/schedules', body: planned })
    const link = await askBySecretLink(served, { name: 'forecast' })
    const item = await putOut(served, 'Water the plants')
    await served.familiar.learning.idle()
    const counts = async () => {
      const tables = [
        ...(['sessions', 'session_events', 'inbox', 'cost_ledger', 'media', 'access_tokens'] as const),
        ...(['memories', 'facts', 'commitments', 'entity_aliases', 'memory_edges', 'memory_changes'] as const),
        ...([
          'capabilities',
          'capability_versions',
          'builds',
          'build_events',
          'build_questions',
          'one_time_links',
        ] as const),
        ...(['schedules', 'schedule_runs', 'blocks', 'pins', 'outbox', 'browsers', 'session_views'] as const),
      ]
      const rows = tables.map((table) => database.read.selectFrom(table).selectAll().execute())
      return JSON.stringify(await Promise.all(rows))
    }
    await untilSearchable(database)
    const before = await counts()
    // Nothing in the session has a card, a file or a response: http-page.test.ts and the OpenAI suites ask for those.
    const isPart = (path: string) =>
      /^\/api\/v1\/(sessions\/:id\/(cards|media|messages)|search\/files)\/|^\/v1\/responses\//.test(path)
    const gets = served.routes.filter(({ method, path, events }) => method === 'GET' && !events && !isPart(path))
    const queries: Record<string, string> = {
      '/api/v1/memories/search': '?q=key',
      '/api/v1/search': '?q=key',
      '/api/v1/sessions/export': '?sessions=main',
    }
    for (const route of gets) {
      for (const method of ['GET', 'HEAD']) {
        const ids: Record<string, string> = {
          '/api/v1/memories/:id': memory.id,
          '/api/v1/builds/:id': build.id,
          '/api/v1/schedules/:id': String(schedule.id),
          '/api/v1/outbox/:id': item,
          '/v1/models/:id': 'familiar',
        }
        const id = ids[route.path] ?? 'main'
        const query = queries[route.path] ?? ''
        const token = route.isLocal ? served.localToken : served.owner.token
        const path = (pathOf(route, id) + query).replace(':token', link.token)
        expect((await served.call({ method, path, token })).status, route.path).toBe(200)
      }
    }
    expect(await counts()).toBe(before)
  })

  it('SEC-18 headers have a limit, and invalid HTTP is rejected', async () => {
    const served = await serve({ limits: { maxHeaderBytes: 2048 } })
    const large = await served.call({ ...monitor, headers: { 'x-large': 'x'.repeat(4000) } })
    expect(large).toMatchObject({ status: 431, json: { code: 'payload_too_large' } })
    expect(await sendRaw(served, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 .*"code":"bad_request"/s)
    const both =
      'POST /api/v1/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
    expect(await sendRaw(served, both)).toMatch(/^HTTP\/1.1 400 /)
    expect(await sendRaw(served, 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 /,
    )
  })

  it('SEC-18 a request that never comes to its end is cut off', async () => {
    const served = await serve({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 200 } })
    expect(await sendRaw(served, 'GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')).toMatch(
      /^HTTP\/1.1 408 /,
    )
  })

  it('SEC-18 connections have a limit', async () => {
    const served = await serve({ limits: { maxConnections: 1 } })
    const first = connect(served.server.port, '127.0.0.1')
    await new Promise((resolve) => first.once('connect', resolve))
    await expect(served.call(monitor)).rejects.toThrow()
    first.destroy()
  })

  it('HTTP-2 a port that is taken is a conflict that names it; port 0 takes a free one', async () => {
    const first = await serve()
    const { port, url } = first.server
    expect(url).toBe(`http://127.0.0.1:${port}`)
    const { serveHttp } = await import('../../src/http/server.ts')
    const { Hono } = await import('hono')
    const taken = serveHttp({ app: new Hono(), host: '127.0.0.1', port }).catch((cause: unknown) => cause)
    const error = await taken
    expect(error).toBeInstanceOf(FamiliarError)
    expect(error).toMatchObject({ code: 'conflict', message: expect.stringContaining(`Port ${port}`) })
  })

  it('HTTP-2 an internal error is reported by a number, and only the log has details', async () => {
    const lines: { message: string; fields: unknown }[] = []
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: (message: string, fields?: object) => void lines.push({ message, fields }),
    }
    const served = await serve({ logger })
    const { database } = served.familiar
    await database.write(async (writer) => void (await writer.schema.dropTable('cost_ledger').execute()))
    const answer = await served.call({ path: '/api/v1/cost' })
    expect(answer).toMatchObject({ status: 500, json: { code: 'internal', request_id: expect.any(String) } })
    expect(answer.text).not.toMatch(/cost_ledger|sqlite|node_modules|\.ts/i)
    expect(lines).toMatchObject([{ message: 'a request failed', fields: { request: answer.json.request_id } }])
  })

  it('HTTP-2 an unknown path is 404 with a token and 401 without', async () => {
    const served = await serve()
    for (const path of [
      '/',
      '/api',
      '/api/v1',
      '/api/v1/chat/',
      '/api/v1/nothing',
      '/API/V1/monitor',
      '/api/v1/../../etc/passwd',
    ]) {
      expect((await served.call({ path })).json, path).toMatchObject({ code: 'not_found' })
      expect((await served.call({ path, token: null })).status, path).toBe(401)
    }
  })

  it('SEC-2 every guard has a test that shows what happens without it', () => {
    const here = ['rate_limit', 'failed_logins', 'scope', 'owner']
    const underLoad = ['body_load']
    const inMatrix = ['host', 'origin', 'token', 'method', 'content_type', 'body_size', 'signature', 'local', 'link']
    expect([...here, ...inMatrix, ...underLoad].sort()).toEqual([...guardNames].sort())
  })
})

function sendRaw(served: ServedFamiliar, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(served.server.port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', () => resolve(answer))
  })
}
