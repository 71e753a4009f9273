import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRealSandbox } from '../support/real-sandbox.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { readEvents, type ServedFamiliar, serveFamiliar } from './http-support.ts'

const secret = 'sk-canary-7d20c4e19b'
const base = '/api/v1/capabilities'
const local = '/api/v1/local/capabilities'

describe('capabilities over HTTP', () => {
  const folder = mkdtempSync(join(tmpdir(), 'familiar-http-caps-'))
  const real = openRealSandbox()
  let served: ServedFamiliar
  beforeAll(async () => {
    served = await serveFamiliar({ sandbox: real.sandbox })
  })
  afterAll(async () => {
    await served.close()
    await real.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A folder on this machine that could become a capability. */
  function write(name: string, files: Record<string, string>): string {
    const directory = join(folder, name)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    for (const [path, text] of Object.entries(files)) writeFileSync(join(directory, path), text)
    return directory
  }
  const get = (path: string) => served.call({ path })
  const post = (path: string, body: object = {}) => served.call({ path, body })
  const atHome = (path: string, body: object) => served.call({ path, body, token: served.localToken })

  it('CAP-4 the command line of this machine registers a folder, and gets the result of each example', async () => {
    const directory = write('greeter', greeterFiles())
    expect((await atHome(`${local}/register`, { directory })).json).toEqual({
      ok: true,
      name: 'greeter',
      version: 1,
      examples: [{ input: { name: 'Ada' }, ok: true, detail: expect.any(String) }],
      problems: [],
    })
    const wrong = greeterFiles({
      'manifest.json': greeterManifest({ name: 'grumpy' }),
      'examples.json': [{ input: { name: 'Ada' }, expect: { equals: 'Go away!' } }],
    })
    const refused = await atHome(`${local}/register`, { directory: write('grumpy', wrong) })
    expect(refused).toMatchObject({ status: 200, json: { ok: false, name: null, version: null } })
    expect(refused.json.examples).toEqual([{ input: { name: 'Ada' }, ok: false, detail: expect.any(String) }])
    expect(refused.json.problems).not.toEqual([])
    expect((await get(`${base}/grumpy`)).status).toBe(404)
  })

  it('CAP-4 a registration reports its progress as events', async () => {
    const files = greeterFiles({ 'manifest.json': greeterManifest({ name: 'waver' }) })
    const { response } = await served.open({
      path: `${local}/register`,
      body: { directory: write('waver', files) },
      token: served.localToken,
      headers: { accept: 'text/event-stream' },
    })
    const events = await readEvents(response)
    expect(events.at(-1)).toMatchObject({ name: 'result', data: { ok: true, name: 'waver', version: 1 } })
    expect(events.filter(({ name }) => name === 'progress').length).toBeGreaterThan(0)
  })

  it('SEC-4 no token but the credential in the home registers, imports, approves or exports', async () => {
    const { tokens, familiar } = served
    await tokens.setEnvironmentToken(familiar.userId, 'a-token-of-the-environment-0123456789')
    const held = [
      served.owner.token,
      await served.tokenFor('owner'),
      await served.tokenFor('chat'),
      await served.tokenFor('read'),
      'a-token-of-the-environment-0123456789',
    ]
    const target = join(folder, 'never')
    const directory = write('intruder', greeterFiles({ 'manifest.json': greeterManifest({ name: 'intruder' }) }))
    const calls = [
      [`${local}/register`, { directory }],
      [`${local}/import`, { directory }],
      [`${local}/greeter/approve`, { version: 1 }],
      [`${local}/greeter/export`, { directory: target }],
    ] as const
    const localRoutes = served.routes.filter(({ isLocal, path }) => isLocal && path.includes('/capabilities/'))
    expect(localRoutes.map(({ path }) => path)).toEqual(calls.map(([path]) => path.replace('/greeter/', '/:name/')))
    for (const token of held) {
      for (const [path, body] of calls) {
        expect(await served.call({ path, body, token })).toMatchObject({ status: 403, json: { code: 'forbidden' } })
      }
    }
    expect(existsSync(target)).toBe(false)
    expect((await get(`${base}/intruder`)).status).toBe(404)
    expect(await atHome(`${local}/register`, { directory: 'relative/path' })).toMatchObject({ status: 400 })
  })

  it('CAP-8 lists, finds and shows them, with versions, statistics and permissions', async () => {
    const listed = (await get(base)).json.capabilities as { name: string }[]
    expect(listed.map(({ name }) => name)).toEqual(['greeter', 'waver'])
    expect((await get(`${base}?state=disabled`)).json).toEqual({ capabilities: [] })
    expect((await get(`${base}?query=greets%20somebody`)).json.capabilities).not.toEqual([])
    expect((await get(`${base}?state=sleeping`)).status).toBe(400)
    const { json } = await get(`${base}/greeter`)
    expect(json).toMatchObject({
      name: 'greeter',
      tool: 'cap_greeter',
      state: 'active',
      origin: 'written',
      version: 1,
      needs_approval: false,
      permissions: { hosts: [], secrets: [], storage: false },
      versions: [{ version: 1, runtime: 'python', build_id: null }],
      statistics: { calls: 0, failures: 0, median_ms: null, last_error: null },
      build: null,
    })
    expect((await get(`${base}/proposals`)).json).toEqual({ proposals: [] })
  })

  it('CAP-5 runs one; its errors are in the answer, errors of the caller are refusals', async () => {
    const ran = await post(`${base}/greeter/run`, { args: { name: 'Dylan' } })
    expect(ran).toMatchObject({ status: 200, json: { ok: true, value: 'Hello, Dylan!', text: 'Hello, Dylan!' } })
    expect(Object.keys(ran.json)).toEqual([
      'ok',
      'value',
      'text',
      'card',
      'error',
      'outcome',
      'log',
      'refused_hosts',
      'duration_ms',
      'driver',
    ])
    expect((await post(`${base}/greeter/run`)).json).toMatchObject({ ok: false })
    expect((await post(`${base}/greeter/run`, { args: [] })).status).toBe(400)
    expect((await post(`${base}/greeter/run`, { code: 'print()' })).status).toBe(400)
    expect((await post(`${base}/nothing/run`)).status).toBe(404)
    const { json } = await get(`${base}/greeter/calls?limit=1`)
    expect(json.calls).toMatchObject([{ tool: 'cap_greeter', caller: 'user' }])
    const statistics = (await get(`${base}/greeter`)).json.statistics
    expect(statistics).toMatchObject({ calls: expect.any(Number), median_ms: expect.any(Number) })
  })

  it('CAP-8 compares versions and rolls back; an older one can be tried without serving', async () => {
    const better = greeterFiles({
      'main.py': 'def run(args):\n    return "Good day, " + args["name"] + "!"\n',
      'examples.json': [{ input: { name: 'Ada' }, expect: { contains: 'Good day' } }],
    })
    await atHome(`${local}/register`, { directory: write('greeter', better) })
    const { json } = await get(`${base}/greeter/diff`)
    expect(json).toMatchObject({ from: 1, to: 2 })
    expect(JSON.stringify(json)).toContain('Good day')
    expect((await get(`${base}/greeter/diff?from=2&to=1`)).json).toMatchObject({ from: 2, to: 1 })
    expect((await get(`${base}/greeter/diff?to=9`)).status).toBe(404)
    const newest = (await get(`${base}/greeter/files`)).json as { version: number; files: { path: string }[] }
    expect(newest.version).toBe(2)
    expect(newest.files.map(({ path }) => path).sort()).toEqual(['RUN.md', 'examples.json', 'main.py', 'manifest.json'])
    expect((await get(`${base}/greeter/files?version=1`)).json).toMatchObject({
      version: 1,
      files: expect.arrayContaining([
        { path: 'main.py', bytes: greeterFiles()['main.py']?.length, text: greeterFiles()['main.py'] },
      ]),
    })
    expect((await get(`${base}/greeter/files?version=9`)).status).toBe(404)
    expect((await get(`${base}/greeter/files?version=../1`)).status).toBe(400)
    const args = { name: 'Ada' }
    expect((await post(`${base}/greeter/run`, { args })).json.text).toBe('Good day, Ada!')
    expect((await post(`${base}/greeter/run`, { args, version: 1 })).json.text).toBe('Hello, Ada!')
    expect((await post(`${base}/greeter/rollback`)).json).toMatchObject({ version: 1 })
    expect((await post(`${base}/greeter/run`, { args })).json.text).toBe('Hello, Ada!')
    expect((await post(`${base}/greeter/rollback`)).status).toBe(409)
    expect((await post(`${base}/greeter/rollback`, { version: 2 })).json).toMatchObject({ version: 2 })
  })

  it('CAP-2 one that is switched off does not run until it is switched on', async () => {
    expect((await post(`${base}/waver/disable`)).json).toMatchObject({ state: 'disabled' })
    const args = { name: 'Ada' }
    expect((await post(`${base}/waver/run`, { args })).json).toMatchObject({ ok: false, outcome: 'refused' })
    expect((await post(`${base}/waver/enable`)).json).toMatchObject({ state: 'active' })
    expect((await post(`${base}/waver/run`, { args })).json).toMatchObject({ ok: true })
  })

  it('CAP-9 an import is off until the machine itself approves the shown version', async () => {
    const guest = (greeting: string) =>
      greeterFiles({
        'manifest.json': greeterManifest({ name: 'guest', hosts: ['api.example.com'] }),
        'main.py': `def run(args):\n    return "${greeting}, " + args["name"] + "!"\n`,
        'examples.json': [{ input: { name: 'Ada' }, expect: { contains: 'Ada' } }],
      })
    const imported = await atHome(`${local}/import`, { directory: write('guest', guest('Salut')) })
    expect(imported.json).toMatchObject({ ok: true, name: 'guest', version: 1, examples: [] })
    expect((await get(`${base}/guest`)).json).toMatchObject({
      state: 'disabled',
      needs_approval: true,
      permissions: { hosts: ['api.example.com'] },
    })
    for (const word of ['enable', 'rollback', 'repair']) {
      expect(await post(`${base}/guest/${word}`), word).toMatchObject({ status: 409, json: { code: 'conflict' } })
    }
    expect((await post(`${base}/guest/run`, { args: { name: 'Ada' } })).json).toMatchObject({ outcome: 'refused' })
    await atHome(`${local}/import`, { directory: write('guest', guest('Ciao')) })
    expect((await atHome(`${local}/guest/approve`, { version: 1 })).status).toBe(409)
    expect((await atHome(`${local}/guest/approve`, { version: 2 })).json).toMatchObject({ ok: true, version: 2 })
    const run = (body: object) => post(`${base}/guest/run`, { args: { name: 'Ada' }, ...body })
    expect((await run({})).json.text).toBe('Ciao, Ada!')
    // The first version was never approved.
    expect((await run({ version: 1 })).status).toBe(409)
    expect((await post(`${base}/guest/rollback`, { version: 1 })).status).toBe(409)
    expect((await run({ version: 2 })).json.text).toBe('Ciao, Ada!')
  })

  it('CAP-9 exports one as a folder that can be taken in again', async () => {
    const exported = await atHome(`${local}/greeter/export`, { directory: join(folder, 'out') })
    expect(exported).toMatchObject({ status: 201 })
    expect(exported.json.files).toEqual(expect.arrayContaining(['SKILL.md', 'main.py', 'manifest.json']))
    expect(existsSync(join(exported.json.directory as string, 'SKILL.md'))).toBe(true)
  })

  it('SEC-13 a declared secret can be set, and is never returned', async () => {
    const files = greeterFiles({
      'manifest.json': greeterManifest({ name: 'keeper', secrets: [{ name: 'API_KEY', description: 'Your key' }] }),
      'main.py': 'def run(args, context):\n    return {"text": context.secrets["API_KEY"] + args["name"]}\n',
    })
    await served.capabilities.publish(served.familiar.userId, files)
    const put = (key: string, value: string) =>
      served.call({ method: 'PUT', path: `${base}/keeper/secrets/${key}`, body: { value } })
    const declared = async () => (await get(`${base}/keeper`)).json.permissions
    expect(await declared()).toMatchObject({ secrets: [{ name: 'API_KEY', is_set: false }] })
    expect((await put('API_KEY', secret)).json).toEqual({ was_awaited: false })
    expect(await declared()).toMatchObject({ secrets: [{ name: 'API_KEY', is_set: true }] })
    expect(await put('OTHER', secret)).toMatchObject({
      status: 400,
      json: { error: 'keeper declares no secret "OTHER". It has: API_KEY.' },
    })
    const ran = await post(`${base}/keeper/run`, { args: { name: 'Ada' } })
    expect(ran.json).toMatchObject({ ok: true })
    for (const { text } of [ran, await get(`${base}/keeper`), await get(`${base}/keeper/calls`)]) {
      expect(text).not.toContain(secret)
    }
  })

  it('CAP-8 a repair is a build in the background, with what failed last', async () => {
    expect(await post(`${base}/waver/repair`)).toMatchObject({ status: 409 })
    const begun = await post(`${base}/waver/repair`, { problem: 'It waves with the wrong hand' })
    expect(begun).toMatchObject({ status: 202, json: { name: 'waver', kind: 'repair', state: 'running' } })
    expect((await get(`${base}/waver`)).json).toMatchObject({ version: 1, build: { id: begun.json.id } })
    expect((await post(`${base}/waver/repair`, { problem: 'again' })).status).toBe(409)
    expect((await post(`/api/v1/builds/${begun.json.id}/stop`)).json).toEqual({ stopped: true })
    expect(served.capabilities.stopped.map(({ id }) => id)).toEqual([begun.json.id])
  })

  it('SEC-22 capabilities of another user do not exist', async () => {
    await served.familiar.database.write((writer) =>
      writer.insertInto('users').values({ id: 'eve', name: 'Eve', role: 'user', created_at: 0 }).execute(),
    )
    const build = await served.capabilities.requestBuild(served.familiar.userId, 'weather')
    const signal = new AbortController()
    const asked = served.capabilities.desk
      .ask({
        build,
        callId: 'call-1',
        question: 'Which?',
        seen: { untrusted: false, private: false },
        signal: signal.signal,
      })
      .catch(() => 'ended')
    const token = await served.tokenFor('owner', 'eve')
    const bodies: Record<string, object> = {
      '/api/v1/capabilities/:name/secrets/:key': { value: secret },
      '/api/v1/builds/questions/:id': { answer: 'this one' },
      '/api/v1/builds/questions/:id/secret': { value: secret },
    }
    const routes = served.routes.filter(({ path, isLocal }) => /capabilities|build/.test(path) && !isLocal)
    expect(routes.length).toBe(20)
    for (const { method, path } of routes) {
      const id = path.includes('questions') ? `${build.id}.call-1` : build.id
      const named = path.replace(':id', id).replace(':name', 'greeter').replace(':key', 'API_KEY')
      const query = path === '/api/builder/status' ? `?buildId=${build.id}` : ''
      const body = method === 'GET' ? undefined : (bodies[path] ?? {})
      const answer = await served.call({ method, path: named + query, token, ...(body && { body }) })
      const lists = [
        '/api/v1/capabilities',
        '/api/v1/capabilities/proposals',
        '/api/v1/builds',
        '/api/v1/builds/questions',
      ]
      expect({ method, path, status: answer.status }).toEqual({
        method,
        path,
        status: lists.includes(path) ? 200 : 404,
      })
      if (lists.includes(path)) expect(Object.values(answer.json)).toEqual([[]])
    }
    expect((await get(`/api/v1/builds/${build.id}`)).json).toMatchObject({ state: 'waiting' })
    signal.abort()
    expect(await asked).toBe('ended')
  })
})
