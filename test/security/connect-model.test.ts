import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type FakeModel, type FakeModelOptions, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

const secretKey = 'sk-fake-0123456789abcdefghij'

async function startProvider(options: FakeModelOptions = {}): Promise<FakeModel> {
  const fake = await startFakeModel({
    key: secretKey,
    models: ['big-model', 'small-model', 'text-embedding-3'],
    ...options,
  })
  closers.push(fake.close)
  return fake
}

async function start(options: Parameters<typeof startFamiliar>[0] = {}): Promise<RunningFamiliar> {
  const familiar = await startFamiliar({ toml: '# mine\n[budget]\nper_day_usd = 3 # enough\n', ...options })
  closers.push(() => familiar.close())
  return familiar
}

type Headers = Record<string, string>

/** The headers of the owner's page. */
async function signIn({ daemon }: RunningFamiliar): Promise<Headers> {
  const code = (await daemon.signInLink())?.replace(/^.*#sign-in=/, '')
  const response = await fetch(`${daemon.url}/api/v1/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  const { page_key } = (await response.json()) as { page_key: string }
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { authorization: `Page ${page_key}`, cookie }
}

async function ask(familiar: RunningFamiliar, path: string, body: unknown, headers: Headers, method = 'POST') {
  const response = await familiar.request(method, path, body, headers)
  return { status: response.status, body: (await response.json()) as Record<string, never> & { error?: string } }
}

const address = (fake: FakeModel) => `${fake.url}/v1`
const host = (fake: FakeModel) => new URL(fake.url).host
const described = (fake: FakeModel, more = {}) => ({
  provider: 'local',
  base_url: address(fake),
  api_key: secretKey,
  confirmed_host: host(fake),
  ...more,
})

/** Every byte of the home. */
function homeText(home: string): string {
  const names = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return names.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')).join('\n')
}

const setupPaths: [method: string, path: string, body: unknown][] = [
  ['GET', '/api/v1/setup/providers', undefined],
  ['POST', '/api/v1/setup/try', { provider: 'ollama' }],
  ['POST', '/api/v1/setup/models', { provider: 'ollama', model: 'x' }],
  ['PUT', '/api/v1/settings/policy.mode', { value: 'trusting' }],
  ['PUT', '/api/v1/setup/telegram', { allowed_ids: [1] }],
]

describe('connecting a model in the page', () => {
  it('SETUP-1 a key is tried, a model chosen and saved; it answers at once, and after a restart', async () => {
    const familiar = await start()
    const fake = await startProvider()
    const page = await signIn(familiar)
    expect(familiar.daemon.model()).toBe('offline/offline')

    const tried = await ask(familiar, '/api/v1/setup/try', described(fake), page)
    expect(tried.body).toEqual({
      ok: true,
      problem: null,
      models: ['big-model', 'small-model'],
      suggested: 'big-model',
    })
    const connected = await ask(familiar, '/api/v1/setup/models', described(fake, { model: 'small-model' }), page)
    expect(connected.body).toEqual({
      ok: true,
      problem: null,
      model: 'local/small-model',
      current: 'local/small-model',
    })
    expect(fake.requests.map(({ body }) => body.model)).toEqual(['small-model'])
    fake.reply({ text: 'Here I am.' })
    expect((await familiar.chat('Hello')).reply).toBe('Here I am.')

    // A second model of the same server. The key is known already.
    const { api_key: _, ...again } = described(fake, { model: 'big-model' })
    const second = await ask(familiar, '/api/v1/setup/models', again, page)
    expect(second.body).toMatchObject({ ok: true, model: 'local/big-model' })
    const models = await ask(familiar, '/api/v1/models', undefined, page, 'GET')
    expect(models.body.models).toMatchObject([{ id: 'local/small-model', has_key: true }, { id: 'local/big-model' }])

    const config = readFileSync(join(familiar.home, 'familiar.toml'), 'utf8')
    expect(config).toContain('# mine\n[budget]\nper_day_usd = 3 # enough\n')
    await familiar.daemon.close(0)
    const restarted = await start({ home: familiar.home, toml: config })
    expect(restarted.daemon.model()).toBe('local/big-model')
    fake.reply({ text: 'Still here.' })
    expect((await restarted.chat('Hello again')).reply).toBe('Still here.')
  })

  it('SEC-4a a new key is in the vault only: in no file, no reply and no log', async () => {
    const familiar = await start()
    const fake = await startProvider()
    const page = await signIn(familiar)
    await ask(familiar, '/api/v1/setup/models', described(fake, { model: 'big-model' }), page)
    expect(familiar.daemon.model()).toBe('local/big-model')
    for (const path of ['/api/v1/settings', '/api/v1/models', '/api/v1/setup/providers', '/api/v1/doctor']) {
      const { status, body } = await ask(familiar, path, undefined, page, 'GET')
      expect(status).toBe(200)
      expect(JSON.stringify(body), path).not.toContain(secretKey)
    }
    expect(existsSync(join(familiar.home, '.env'))).toBe(false)
    expect(readFileSync(join(familiar.home, 'providers.d', 'local.toml'), 'utf8')).toContain(
      'api_key_env = "LOCAL_API_KEY"',
    )
    expect(homeText(familiar.home)).not.toContain(secretKey)
  })

  it('SETUP-1 the words of the provider are shown, and nothing is saved', async () => {
    const familiar = await start()
    const fake = await startProvider()
    const page = await signIn(familiar)
    const wrong = described(fake, { api_key: 'sk-wrong' })
    const tried = await ask(familiar, '/api/v1/setup/try', wrong, page)
    expect(tried.body).toMatchObject({ ok: false, problem: expect.stringContaining('rejected the key') })
    const connected = await ask(familiar, '/api/v1/setup/models', { ...wrong, model: 'big-model' }, page)
    expect(connected.body).toMatchObject({ ok: false, model: null, current: 'offline/offline' })
    expect(connected.body.problem).toContain('Incorrect API key provided.')
    expect(readdirSync(join(familiar.home, 'providers.d'))).toEqual([])
    expect(familiar.daemon.model()).toBe('offline/offline')
  })

  it('SEC-4a no access token may, only the owner’s page on this machine and the command line', async () => {
    const familiar = await start()
    const { token } = (await (await familiar.request('POST', '/api/v1/local/tokens', { scope: 'owner' })).json()) as {
      token: string
    }
    const chat = (await (await familiar.request('POST', '/api/v1/local/tokens', { scope: 'chat' })).json()) as {
      token: string
    }
    const page = await signIn(familiar)
    await familiar.request('POST', '/api/v1/local/users', { name: 'guest', tier: 'guest' })
    const link = await familiar.request('POST', '/api/v1/local/sign-in-link', { user: 'guest' })
    const { url } = (await link.json()) as { url: string }
    const guest = await signIn({ ...familiar, daemon: { ...familiar.daemon, signInLink: async () => url } })
    const callers: Record<string, Headers> = {
      'an owner token': { authorization: `Bearer ${token}` },
      'a chat token': { authorization: `Bearer ${chat.token}` },
      'the page of another user': guest,
      'the page behind a proxy': { ...page, 'x-forwarded-for': '203.0.113.9' },
    }
    for (const [method, path, body] of setupPaths) {
      for (const [name, headers] of Object.entries(callers)) {
        const { status } = await ask(familiar, path, body, headers, method)
        expect(status, `${method} ${path} by ${name}`).toBe(403)
      }
      const { status } = await ask(familiar, path, body, page, method)
      expect(status, `${method} ${path} by the page`).not.toBe(403)
    }
    const tools = await (await familiar.request('GET', '/api/v1/tools')).text()
    expect(tools).not.toMatch(/connect_model|set_setting|change_setting/)
  })

  it('SEC-4a an address must be confirmed by its host', async () => {
    const familiar = await start()
    const fake = await startProvider()
    const page = await signIn(familiar)
    for (const confirmed_host of [undefined, '', '127.0.0.1', 'example.org', `${host(fake)}0`]) {
      for (const path of ['/api/v1/setup/try', '/api/v1/setup/models']) {
        const body = described(fake, { confirmed_host, ...(path.endsWith('models') && { model: 'big-model' }) })
        const { status, body: reply } = await ask(familiar, path, body, page)
        expect(status, String(confirmed_host)).toBe(400)
        expect(reply.error).toContain(host(fake))
      }
    }
    expect(fake.requests).toEqual([])
  })

  it('SEC-4a only the confirmed host is reached: a redirect to another one is refused', async () => {
    const familiar = await start()
    const inner = await startProvider()
    const server = createServer((request, response) => {
      response.writeHead(307, { location: `${inner.url}${request.url}` }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => new Promise((resolve) => server.close(resolve)))
    const outer = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const page = await signIn(familiar)
    const body = { provider: 'local', base_url: `http://${outer}/v1`, api_key: secretKey, confirmed_host: outer }
    const { body: reply } = await ask(familiar, '/api/v1/setup/try', body, page)
    expect(reply).toMatchObject({ ok: false, models: [] })
    const connected = await ask(familiar, '/api/v1/setup/models', { ...body, model: 'big-model' }, page)
    expect(connected.body).toMatchObject({ ok: false })
    expect(inner.requests).toEqual([])
  })

  it('SEC-4a a known key goes to its provider only', async () => {
    const familiar = await start({ env: { OPENAI_API_KEY: secretKey } })
    const fake = await startProvider({ key: 'another-key' })
    const page = await signIn(familiar)
    const body = { provider: 'openai', base_url: address(fake), confirmed_host: host(fake) }
    await ask(familiar, '/api/v1/setup/models', { ...body, model: 'big-model' }, page).catch(() => undefined)
    expect(fake.requests).toEqual([])
    await ask(familiar, '/api/v1/setup/models', { ...body, provider: 'ollama', model: 'big-model' }, page)
    await ask(familiar, '/api/v1/setup/models', { ...body, provider: 'local', model: 'big-model' }, page)
    expect(fake.requests.length).toBeGreaterThan(0)
    expect(JSON.stringify(fake.requests.map(({ headers }) => headers))).not.toContain(secretKey)
  })
})

describe('changing a setting in the page', () => {
  it('SETUP-2 comments and order stay, a value that is not allowed is not written, and null removes the key', async () => {
    const familiar = await start()
    const page = await signIn(familiar)
    const change = (key: string, value: unknown) => ask(familiar, `/api/v1/settings/${key}`, { value }, page, 'PUT')
    const text = () => readFileSync(join(familiar.home, 'familiar.toml'), 'utf8')
    expect((await change('budget.per_day_usd', 4.5)).body).toEqual({ ok: true, problem: null, restart_needed: [] })
    expect(text()).toBe('# mine\n[budget]\nper_day_usd = 4.5 # enough\n')
    await change('budget.per_month_usd', 40)
    expect(text()).toContain('per_month_usd = 40')
    await change('budget.per_month_usd', null)
    expect(text()).toBe('# mine\n[budget]\nper_day_usd = 4.5 # enough\n')
    const refused = await change('budget.per_day_usd', 'lots')
    expect(refused.body).toMatchObject({ ok: false, problem: expect.stringContaining('per_day_usd') })
    expect(text()).toContain('per_day_usd = 4.5')
    expect((await change('policy.mode', 'strict')).body.ok).toBe(true)
    const caps = await ask(familiar, '/api/v1/settings', undefined, page, 'GET')
    expect(JSON.stringify(caps.body)).toContain('"key":"policy.mode","value":"\\"strict\\""')
  })

  it('SETUP-2 a setting that is read at the start is named', async () => {
    const familiar = await start()
    const page = await signIn(familiar)
    const body = { token: '1234567:AAF-abcdefghijklmnopqrstuvwxyz01234', allowed_ids: [700100] }
    const { body: reply } = await ask(familiar, '/api/v1/setup/telegram', body, page, 'PUT')
    expect(reply).toEqual({ ok: true, problem: null, restart_needed: ['telegram'] })
    expect(homeText(familiar.home)).not.toContain(body.token)
  })

  it('SEC-4a no setting that names a program, a path, a host or a switch of the sandbox', async () => {
    const familiar = await start()
    const page = await signIn(familiar)
    for (const key of [
      'http.host',
      'http.allow_remote',
      'egress.allowed_hosts',
      'sandbox.driver',
      'assets.roots',
      'tools.directories',
      'policy.destinations',
      'mcp.servers.x.command',
      'tools.browser.executable',
      'telegram.api_root',
      'database.url',
      'constructor',
    ]) {
      const { status } = await ask(familiar, `/api/v1/settings/${key}`, { value: 'x' }, page, 'PUT')
      expect(status, key).toBe(403)
    }
  })
})
