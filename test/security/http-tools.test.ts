import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bashTool, pythonTool, toolExample } from '../support/published-tools.ts'
import { waitFor } from '../support/wait-for.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const secret = 'sk-canary-91c27a'
const settings = {
  api_key: { description: 'Your key', secret: true, required: true },
  endpoint: { description: 'Where', default: 'https://api.example.com/v1' },
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('tools over HTTP', () => {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-http-tools-'))
  const pidFile = join(directory, 'pid')
  let served: ServedFamiliar
  beforeAll(async () => {
    served = await serveFamiliar({
      folderTools: {
        tool_example: toolExample,
        keeper: pythonTool('keeper', 'print(json.dumps({"text": settings["api_key"]}))', { config_schema: settings }),
        failing: {
          ...bashTool('failing', 'echo \'{"error": "The service is down"}\'; exit 1'),
          'tests.json': JSON.stringify([
            { name: 'works', expect: { text: 'fine' } },
            { name: 'says why', expect: { error_contains: 'is down' } },
          ]),
        },
        broken: { 'manifest.json': '{', 'runner.sh': '' },
        waiting: bashTool('waiting', `echo $$ > ${pidFile}; exec sleep 30`, { constraints: { timeout_seconds: 30 } }),
      },
    })
  })
  afterAll(async () => {
    await served.close()
    rmSync(directory, { recursive: true, force: true })
  })

  const call = (method: string, path: string, body?: unknown) =>
    served.call({ method, path, ...(body !== undefined && { body }) })
  const get = (path: string) => call('GET', path)

  it('TOOL-6 lists every tool with its status, a broken one with its reason', async () => {
    const { json } = await get('/api/v1/tools')
    const tools = json.tools as { name: string; status: string; problem: string | null }[]
    expect(tools.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'broken error',
      'failing system',
      'keeper available',
      'tool_example system',
      'waiting system',
    ])
    expect(tools[0]?.problem).toMatch(/manifest\.json/)
    expect(Object.keys(tools[1] ?? {})).toEqual([
      'name',
      'description',
      'version',
      'category',
      'icon',
      'kind',
      'trigger',
      'status',
      'problem',
    ])
  })

  it('TOOL-6 shows one with its settings, limits and hosts; an unknown one is not found', async () => {
    expect((await get('/api/v1/tools/keeper')).json).toMatchObject({
      name: 'keeper',
      kind: 'contract',
      configuration: [
        { key: 'api_key', description: 'Your key', is_secret: true, is_required: true, default: null },
        { key: 'endpoint', is_secret: false, is_required: false, default: 'https://api.example.com/v1' },
      ],
      network: { mode: 'none', declared: ['api.example.com'], allowed: [] },
      limits: { memory_bytes: 268435456, processes: 64, timeout_ms: 9000, is_writable: false },
      refused_hosts: [],
      reads_argument: true,
    })
    const missing = { status: 404, json: { code: 'not_found', error: 'There is no tool named nothing.' } }
    for (const path of ['', '/config']) expect(await get(`/api/v1/tools/nothing${path}`)).toMatchObject(missing)
    for (const word of ['enable', 'disable', 'reload', 'test']) {
      expect(await call('POST', `/api/v1/tools/nothing/${word}`, {})).toMatchObject({ status: 404 })
    }
  })

  it('TOOL-6 sets, shows and takes away settings; secrets come back as ***; unknown keys are refused', async () => {
    const path = '/api/v1/tools/keeper/config'
    expect(await call('POST', '/api/v1/tools/keeper/test')).toMatchObject({ status: 200, json: { ok: false } })
    expect((await call('PUT', path, { api_key: secret })).json).toEqual({
      config: { api_key: '***', endpoint: 'https://api.example.com/v1' },
    })
    expect(await call('PUT', path, { api_key: '***', unheard: 1 })).toMatchObject({
      status: 400,
      json: { code: 'bad_request', error: expect.stringContaining('unheard') },
    })
    expect((await call('PUT', path, { api_key: '***' })).status).toBe(200)
    expect((await call('POST', '/api/v1/tools/keeper/test', {})).json).toEqual({
      ok: true,
      message: 'Configuration looks complete',
    })
    const run = await call('POST', '/api/v1/tools/keeper/run', {})
    expect(run.json).toMatchObject({ error: null, outcome: 'succeeded' })
    expect(run.text).not.toContain(secret)
    for (const where of [
      path,
      '/api/v1/tools/keeper',
      '/api/v1/tools/keeper/calls',
      '/tools',
      '/tools/keeper/config',
    ]) {
      expect((await get(where)).text).not.toContain(secret)
    }
    expect((await call('DELETE', `${path}/api_key`)).json).toEqual({
      config: expect.not.objectContaining({ api_key: '***' }),
    })
    expect((await call('POST', '/api/v1/tools/keeper/test')).json.ok).toBe(false)
  })

  it('TOOL-6 the published paths answer as the contract says', async () => {
    const { json } = await get('/tools')
    const keeper = (json.tools as Record<string, unknown>[]).find(({ name }) => name === 'keeper')
    expect(keeper).toMatchObject({
      status: 'available',
      config_schema: { api_key: { description: 'Your key', secret: true, required: true, default: null } },
    })
    expect((await call('PUT', '/tools/keeper/config', { api_key: secret })).json).toEqual({ ok: true })
    expect((await get('/tools/keeper/config')).json).toMatchObject({ api_key: '***' })
    expect((await call('POST', '/tools/keeper/test')).json).toEqual({
      ok: true,
      message: 'Configuration looks complete',
    })
    expect((await call('DELETE', '/tools/keeper/config/api_key')).json).toEqual({ ok: true })
  })

  it('TOOL-2 runs by hand: its output, its card, duration and place', async () => {
    const body = { params: { name: 'Dylan' }, telemetry: { city: 'Valletta' } }
    const { status, json } = await call('POST', '/api/v1/tools/tool_example/run', body)
    expect(status).toBe(200)
    expect(json).toMatchObject({
      text: "Hello, Dylan! You're in Valletta.",
      title: 'Hello',
      error: null,
      budget_remaining: null,
      driver: 'embedded',
      outcome: 'succeeded',
      card: { title: 'Hello', accentColor: '#6c63ff' },
    })
    expect(json.html).toContain('Hello, Dylan!')
    expect(json.duration_ms).toBeGreaterThan(0)
  })

  it("TOOL-2 a tool's error is in the response; a caller's error is a rejection that names it", async () => {
    const run = (body: unknown) => call('POST', '/api/v1/tools/failing/run', body)
    expect(await run({})).toMatchObject({ status: 200, json: { error: 'The service is down', outcome: 'failed' } })
    for (const [body, message] of [
      [{ params: [] }, /^params: /],
      [{ param: {} }, /unknown key "param"/],
      [{ telemetry: { city: 7 } }, /^telemetry\.city: /],
      [{ telemetry: { planet: 'x' } }, /unknown key "planet"/],
      [{ params: {}, hosts: ['a.example'] }, /unknown key "hosts"/],
    ] as const) {
      expect(await run(body)).toMatchObject({ status: 400, json: { error: expect.stringMatching(message) } })
    }
    expect(await call('POST', '/api/v1/tools/nothing/run', {})).toMatchObject({ status: 404 })
  })

  it('TOOL-11 lists the calls of a tool, newest first', async () => {
    const { json } = await get('/api/v1/tools/failing/calls?limit=1')
    expect(json.calls).toEqual([
      expect.objectContaining({
        tool: 'failing',
        caller: 'user',
        outcome: 'failed',
        driver: 'embedded',
        error: 'The service is down',
        at: expect.stringMatching(/^\d{4}-.*Z$/),
      }),
    ])
    expect((await get('/api/v1/tools/failing/calls?limit=0')).status).toBe(400)
  })

  it('TOOL-6 runs the tests of a tool, and lists the failures', async () => {
    const path = (name: string) => `/api/v1/tools/${name}/tests`
    expect((await call('POST', path('failing'), {})).json).toEqual({
      ok: false,
      tests: [
        { name: 'works', ok: false, failures: ['it failed: The service is down'], duration_ms: expect.any(Number) },
        { name: 'says why', ok: true, failures: [], duration_ms: expect.any(Number) },
      ],
    })
    expect(await call('POST', path('waiting'), {})).toMatchObject({ status: 404, json: { code: 'not_found' } })
    expect((await call('POST', path('nothing'), {})).status).toBe(404)
  })

  it('TOOL-11 a tool that is switched off does not run until it is switched on', async () => {
    expect((await call('POST', '/api/v1/tools/failing/disable')).json).toMatchObject({ status: 'disabled' })
    expect((await call('POST', '/api/v1/tools/failing/run', {})).json).toMatchObject({ outcome: 'refused' })
    expect((await call('POST', '/api/v1/tools/failing/enable')).json).toMatchObject({ status: 'system' })
    expect((await call('POST', '/api/v1/tools/failing/reload')).json).toMatchObject({ status: 'system' })
  })

  it('TOOL-4 a client that disconnects ends the run', async () => {
    const hangUp = new AbortController()
    const call = { path: '/api/v1/tools/waiting/run', body: {}, signal: hangUp.signal }
    const running = served.call(call).catch(() => 'hung up')
    const pid = await waitFor(() => {
      const written = Number(readFileSync(pidFile, 'utf8'))
      expect(written).toBeGreaterThan(0)
      return written
    })
    expect(isRunning(pid)).toBe(true)
    hangUp.abort()
    expect(await running).toBe('hung up')
    await waitFor(() => expect(isRunning(pid)).toBe(false))
  })

  it('SEC-22 settings and calls of another user are not there', async () => {
    await served.familiar.database.write((writer) =>
      writer.insertInto('users').values({ id: 'eve', name: 'Eve', role: 'user', created_at: 0 }).execute(),
    )
    await served.users.refresh()
    const token = await served.tokenFor('owner', 'eve')
    await call('PUT', '/api/v1/tools/keeper/config', { api_key: secret, endpoint: 'https://mine.example' })
    const theirs = await served.call({ path: '/api/v1/tools/keeper/config', token })
    expect(theirs.json).toEqual({ config: { endpoint: 'https://api.example.com/v1' } })
    const calls = await served.call({ path: '/api/v1/tools/failing/calls', token })
    expect(calls.json).toEqual({ calls: [] })
  })
})
