import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import {
  type AuthorizationServer,
  type ProtectedServer,
  startAuthorizationServer,
  startProtectedServer,
} from '../../../test/support/mcp/login-scene.ts'
import { type McpScene, openMcp } from '../../../test/support/mcp/mcp-scene.ts'
import { beginLogin, type PendingLogin, readPastedAnswer } from './begin-login.ts'
import { beginDeviceLogin } from './device-login.ts'
import { createLoginAuth, createLoginFetch, readScopes, revokeLogin } from './login.ts'
import type { McpAddress } from './server-program.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

interface LoginScene {
  scene: McpScene
  authorization: AuthorizationServer
  server: ProtectedServer
  address: McpAddress
  begin(redirectUrl?: string): Promise<PendingLogin>
  /** The whole of `familiar mcp login`, with a user who agrees. */
  logIn(): Promise<void>
}

const everyPort = [{ host: '127.0.0.1' }]

async function openLogin(
  options: {
    authorization?: Parameters<typeof startAuthorizationServer>[0]
    allowedHosts?: { host: string; port?: number }[]
    headers?: Record<string, string>
    oauth?: NonNullable<McpAddress['oauth']>
    metadataUrl?: string
    scopeOfCalls?: string
  } = {},
): Promise<LoginScene> {
  const authorization = await startAuthorizationServer(options.authorization)
  const { metadataUrl, scopeOfCalls } = options
  const server = await startProtectedServer({
    authorization,
    issuer: authorization.origin,
    ...(metadataUrl && { metadataUrl }),
    ...(scopeOfCalls && { scopeOfCalls }),
  })
  const address: McpAddress = {
    url: server.url,
    headers: options.headers ?? {},
    ...(options.oauth && { oauth: options.oauth }),
  }
  const allowedHosts = options.allowedHosts ?? everyPort
  const scene = await openMcp({ one: address }, { approved: false, allowedHosts })
  open.push(authorization, server, scene)
  async function begin(redirectUrl = 'http://127.0.0.1:9/callback'): Promise<PendingLogin> {
    const login = await beginLogin({
      server: 'one',
      address,
      scope: (await scene.approvals.read('one')).loginScope,
      redirectUrl,
      state: 'state-of-this-login',
      logins: scene.logins,
      allowedHosts,
      signal: AbortSignal.timeout(20_000),
    })
    open.push(login)
    return login
  }
  async function logIn(): Promise<void> {
    const login = await begin()
    await login.finish((await authorization.approve(login.url)).searchParams)
    await scene.approvals.note('one', { needsLogin: false, loginScope: '' })
    await scene.mcp.refresh()
  }
  return { scene, authorization, server, address, begin, logIn }
}

describe('a server that takes client credentials', () => {
  const authorization = {
    clientSecret: 'right-secret',
    metadata: { token_endpoint_auth_methods_supported: ['client_secret_basic'] },
  }

  it('TOOL-12a Familiar signs in by itself, and again when the token has expired', async () => {
    const oauth = { clientId: 'by-hand', clientSecret: 'right-secret', isOwnLogin: true as const }
    const { scene, authorization: issuer } = await openLogin({ authorization, oauth })
    expect(await scene.inspect('one')).toMatchObject({ ok: true })
    await scene.approve('one')
    const tool = 'mcp_one_echo'
    expect(await scene.call(tool, { text: 'hello' })).toMatchObject({ isError: false })
    const before = issuer.tokenRequests.length
    issuer.expire()
    expect(await scene.call(tool, { text: 'hello' })).toMatchObject({ isError: false })
    expect(issuer.tokenRequests).toHaveLength(before + 1)
    expect(issuer.tokenRequests.every((body) => body.get('grant_type') === 'client_credentials')).toBe(true)
  })

  it('TOOL-12a a refused secret is an error that does not suggest a login of the user', async () => {
    const oauth = { clientId: 'by-hand', clientSecret: 'wrong-secret', isOwnLogin: true as const }
    const { scene } = await openLogin({ authorization, oauth })
    const seen = await scene.inspect('one')
    expect(seen).toMatchObject({ ok: false, problem: expect.stringContaining('the login with oauth_client_id failed') })
    expect(JSON.stringify(seen)).not.toContain('familiar mcp login')
    expect(JSON.stringify(seen)).not.toContain('wrong-secret')
  })
})

describe('a server that asks for a login', () => {
  it('TOOL-12a needs a login until there is one, and then works without a restart', async () => {
    const { scene, authorization, logIn } = await openLogin()
    expect(await scene.inspect('one')).toEqual({
      ok: false,
      problem: 'it needs login: run `familiar mcp login one`',
      needsLogin: true,
    })
    await logIn()
    await scene.approve('one')
    expect(await scene.call('mcp_one_echo', { text: 'hello' })).toMatchObject({ text: 'hello', isPrivate: true })

    authorization.revoke()
    const refused = await scene.call('mcp_one_echo', { text: 'hello' })
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('familiar mcp login one') })
    expect(scene.mcp.servers()[0]).toMatchObject({ state: 'approved', needsLogin: true })
    expect(await scene.approvals.read('one')).toMatchObject({ isEnabled: true, needsLogin: true })

    await logIn()
    expect(await scene.call('mcp_one_echo', { text: 'again' })).toMatchObject({ text: 'again' })
    await scene.approvals.note('one', { needsLogin: false })
    await scene.mcp.refresh()
    expect(scene.mcp.servers()[0]).toMatchObject({ needsLogin: false })
  })

  it('TOOL-12a retries with a refreshed token, once for all rejected calls', async () => {
    const { scene, authorization, address, logIn } = await openLogin()
    await logIn()
    await scene.approve('one')
    authorization.expire()
    const fetch = createLoginFetch(address, everyPort)
    open.push(fetch)
    const auth = createLoginAuth({ server: 'one', address, logins: scene.logins, fetch })
    await auth.token()
    const refused = { response: new Response(), serverUrl: new URL(address.url), fetchFn: fetch }
    await Promise.all([1, 2, 3].map(() => auth.onUnauthorized?.(refused)))
    expect(await scene.call('mcp_one_echo', { text: 'a' })).toMatchObject({ text: 'a' })
    const grants = authorization.tokenRequests.map((body) => body.get('grant_type'))
    expect(grants).toEqual(['authorization_code', 'refresh_token'])
    // The second refresh shows that the rotated refresh token was stored.
    authorization.expire()
    expect(await scene.call('mcp_one_echo', { text: 'd' })).toMatchObject({ text: 'd' })
  })

  it('TOOL-12a keeps the login if the authorization server is down', async () => {
    const { scene, authorization, logIn } = await openLogin()
    await logIn()
    await scene.approve('one')
    authorization.expire()
    await authorization.close()
    expect(await scene.call('mcp_one_echo', { text: 'a' })).toMatchObject({ isError: true, serviceFailed: true })
    expect(scene.mcp.servers()[0]).toMatchObject({ needsLogin: false })
  })

  it('TOOL-12a uses a client that the owner registered if the server has no registration', async () => {
    const { scene, logIn } = await openLogin({
      authorization: { registers: false, metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] } },
      oauth: { clientId: 'by-hand', clientSecret: 'secret-of-the-client' },
    })
    await logIn()
    expect(await scene.inspect('one')).toMatchObject({ ok: true })
  })

  it('TOOL-12a gets no login if the configuration gives it a key', async () => {
    const { scene } = await openLogin({ headers: { authorization: 'Bearer wrong' } })
    expect(await scene.inspect('one')).toEqual({ ok: false, problem: expect.not.stringContaining('login') })
  })
})

describe('the scopes of a login', () => {
  it('TOOL-12a grow when a call needs more, and a login that would not help is not suggested', async () => {
    const { scene, authorization, logIn } = await openLogin({ scopeOfCalls: 'notes:write' })
    await logIn()
    await scene.approve('one')
    const refused = await scene.call('mcp_one_echo', { text: 'hello' })
    expect(refused.text).toContain('it needs a login with the scope notes:write: run `familiar mcp login one`')
    expect(await scene.approvals.read('one')).toMatchObject({ needsLogin: true, loginScope: 'notes:write' })

    await logIn()
    expect(await scene.call('mcp_one_echo', { text: 'hello' })).toMatchObject({ text: 'hello' })
    expect(await scene.approvals.read('one')).toMatchObject({ needsLogin: false, loginScope: '' })

    // The server refuses the call although the login has the scope.
    authorization.scopeOf = () => ''
    const again = await scene.call('mcp_one_echo', { text: 'hello' })
    expect(again).toMatchObject({ isError: true, text: expect.stringContaining('The account may lack the permission') })
    expect(again.text).not.toContain('familiar mcp login')
    expect(await scene.approvals.read('one')).toMatchObject({ needsLogin: false })
  })

  it('SEC-13 of a refusal are reduced to scopes, whatever the server sends', () => {
    expect(readScopes('a b\ta')).toBe('a b')
    expect(readScopes('a"b c\u202ed ok')).toBe('ok')
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (text) => {
        expect(readScopes(text)).toMatch(/^(?:[\x21\x23-\x5b\x5d-\x7e]+(?: (?!$)|$))*$/)
      }),
    )
  })
})

describe('the client of a login', () => {
  const methods = { token_endpoint_auth_methods_supported: ['client_secret_post'] }

  it('TOOL-12a is registered with an authentication that the server supports', async () => {
    const { authorization, logIn } = await openLogin({ authorization: { metadata: methods, clientSecret: 's3cret-1' } })
    await logIn()
    expect(authorization.registrations).toMatchObject([{ token_endpoint_auth_method: 'client_secret_post' }])
    expect(authorization.tokenRequests[0]?.get('client_secret')).toBe('s3cret-1')
  })

  it.each([
    [true, 'https://familiar.example/client.json'],
    [false, undefined],
  ])('TOOL-12a is a metadata document if the server supports it: %s', async (supported, expected) => {
    const metadata = { client_id_metadata_document_supported: supported }
    const clientId = 'https://familiar.example/client.json'
    const { authorization, begin } = await openLogin({
      authorization: { metadata },
      oauth: { clientId, clientSecret: null },
    })
    const { searchParams } = (await begin()).url
    if (expected) expect(searchParams.get('client_id')).toBe(expected)
    expect(authorization.registrations).toHaveLength(supported ? 0 : 1)
  })
})

describe('a login by code', () => {
  async function beginByCode({ scene, address }: LoginScene, clock: ReturnType<typeof createManualClock>) {
    const signal = AbortSignal.timeout(20_000)
    const options = {
      server: 'one',
      address,
      scope: 'notes:read',
      logins: scene.logins,
      allowedHosts: everyPort,
      signal,
    }
    const login = await beginDeviceLogin({ ...options, clock })
    open.push(login)
    return login
  }

  it('TOOL-12a waits until the user has typed the code on another device', async () => {
    const opened = await openLogin({ authorization: { hasDevices: true } })
    const { scene, authorization } = opened
    const clock = createManualClock()
    const login = await beginByCode(opened, clock)
    expect([login.url.href, login.code]).toEqual([`${authorization.origin}/type`, 'WDJB-MJHT'])
    const finished = login.finish()
    const pass = async (requests: number) => {
      await clock.advance(60_000)
      await expect.poll(() => authorization.tokenRequests.length).toBe(requests)
      await expect.poll(() => clock.timers()).toBe(1)
    }
    await pass(1)
    await pass(2)
    authorization.typeCode('WDJB-MJHT')
    await clock.advance(60_000)
    await finished
    expect(await scene.logins.read('one', opened.address.url)).toMatchObject({ scope: 'notes:read' })
    expect(await scene.inspect('one')).toMatchObject({ ok: true })
  })

  it('TOOL-12a ends when the code expires', async () => {
    const opened = await openLogin({ authorization: { hasDevices: true } })
    const clock = createManualClock()
    const login = await beginByCode(opened, clock)
    const finished = expect(login.finish()).rejects.toThrow('the code has expired')
    clock.setTime(clock.now() + 3_600_000)
    await clock.advance(60_000)
    await finished
  })

  it('TOOL-12a is an error if the server has none', async () => {
    await expect(beginByCode(await openLogin(), createManualClock())).rejects.toThrow('no login by code')
  })
})

describe('a logout', () => {
  const end = async ({ scene, address }: LoginScene) => {
    const login = await scene.logins.read('one', address.url)
    if (!login) throw new Error('There is no login')
    const fetch = createLoginFetch(address, everyPort)
    open.push(fetch)
    return await revokeLogin({ login, fetch, signal: AbortSignal.timeout(20_000) })
  }

  it('TOOL-12a revokes both tokens, the refresh token first', async () => {
    const opened = await openLogin({ authorization: { revokes: true } })
    await opened.logIn()
    expect(await end(opened)).toBe('revoked')
    const [access, refresh] = opened.authorization.tokens
    expect(opened.authorization.revoked).toEqual([`refresh_token ${refresh}`, `access_token ${access}`])
    expect(await opened.scene.inspect('one')).toMatchObject({ ok: false, needsLogin: true })
  })

  it('TOOL-12a says if the server offers no revocation, or fails', async () => {
    const opened = await openLogin()
    await opened.logIn()
    expect(await end(opened)).toBe('not_offered')
    const failing = await openLogin({ authorization: { revokes: true } })
    await failing.logIn()
    await failing.authorization.close()
    expect(await end(failing)).toBe('failed')
  })

  it('SEC-8 sends no token to an unencrypted address of another machine, or to one that is not allowed', async () => {
    const inner = await startAuthorizationServer()
    open.push(inner)
    for (const revocation_endpoint of ['http://10.0.0.1/revoke', `${inner.origin}/revoke`]) {
      const authorization = { revokes: true, metadata: { revocation_endpoint } }
      const opened = await openLogin({ authorization })
      await opened.logIn()
      const login = await opened.scene.logins.read('one', opened.address.url)
      if (!login) throw new Error('There is no login')
      const fetch = createLoginFetch(opened.address, [])
      open.push(fetch)
      expect(await revokeLogin({ login, fetch, signal: AbortSignal.timeout(20_000) })).toBe('failed')
    }
    expect(inner.requests).toEqual([])
  })
})

describe('a login', () => {
  it('SEC-13 is stored in the vault and nowhere else', async () => {
    const { scene, authorization, logIn } = await openLogin({ authorization: { clientSecret: 'secret-of-client-1' } })
    await logIn()
    await scene.approve('one')
    await scene.call('mcp_one_echo', { text: 'a' })
    const names = await scene.vault.names('max')
    expect(names.map(({ owner, name }) => `${owner} ${name}`)).toEqual([
      'mcp:one access_token',
      'mcp:one client_secret',
      'mcp:one login',
      'mcp:one refresh_token',
    ])
    const seen = JSON.stringify([scene.mcp.servers(), await scene.approvals.read('one'), scene.log])
    for (const token of [...authorization.tokens, 'secret-of-client-1']) {
      expect(seen).not.toContain(token)
      expect(scene.redactor.redact(`a ${token} b`)).toBe('a [redacted] b')
    }
    expect(await scene.logins.remove('one')).toBe(true)
    expect(await scene.vault.names('max')).toEqual([])
    expect(await scene.logins.remove('one')).toBe(false)
  })

  it('SEC-13 an unreadable one counts as none', async () => {
    const { scene, logIn } = await openLogin()
    await logIn()
    await scene.database.write((writer) => writer.updateTable('secrets').set({ key_id: 'lost' }).execute())
    expect(await scene.inspect('one')).toMatchObject({ ok: false, needsLogin: true })
  })

  it('SEC-13 belongs to its address', async () => {
    const { scene, server, authorization, logIn } = await openLogin()
    await logIn()
    const other = await startProtectedServer({ authorization, issuer: authorization.origin })
    open.push(other)
    scene.servers.one = { url: other.url, headers: {} }
    // Both accept the same tokens: the address decides.
    expect(await scene.inspect('one')).toMatchObject({ ok: false, needsLogin: true })
    scene.servers.one = { url: server.url, headers: {} }
    expect(await scene.inspect('one')).toMatchObject({ ok: true })
  })

  it('SEC-13 does not send the configured headers of the server to the authorization server', async () => {
    const { authorization, begin } = await openLogin({ headers: { 'x-key': 's3cret-of-the-server' } })
    const login = await begin()
    const back = await authorization.approve(login.url)
    await login.finish(back.searchParams)
    expect(authorization.headers.length).toBeGreaterThan(3)
    expect(JSON.stringify(authorization.headers)).not.toContain('s3cret')
  })

  it('SEC-8a rejects an answer with another state, and keeps waiting', async () => {
    const { scene, authorization, begin } = await openLogin()
    const login = await begin()
    const back = await authorization.approve(login.url)
    for (const state of ['another', '', null]) {
      const forged = new URLSearchParams(back.searchParams)
      if (state === null) forged.delete('state')
      else forged.set('state', state)
      expect(login.isOwn(forged)).toBe(false)
      await expect(login.finish(forged)).rejects.toThrow('not the answer to this login')
    }
    expect(authorization.tokenRequests).toEqual([])
    await login.finish(back.searchParams)
    expect(await scene.inspect('one')).toMatchObject({ ok: true })
  })

  it('SEC-8a rejects the code of another login: the code is bound by PKCE', async () => {
    const { authorization, begin } = await openLogin()
    const [victim, attacker] = [await begin(), await begin()]
    expect(victim.url.searchParams.get('code_challenge_method')).toBe('S256')
    const stolen = (await authorization.approve(attacker.url)).searchParams
    await expect(victim.finish(stolen)).rejects.toThrow()
    expect(authorization.tokens).toEqual([])
  })

  it.each([undefined, ['plain']])('SEC-8a is rejected if the server supports PKCE as %j', async (methods) => {
    const { begin } = await openLogin({ authorization: { metadata: { code_challenge_methods_supported: methods } } })
    await expect(begin()).rejects.toThrow('S256')
  })

  it('SEC-8a rejects an answer of another authorization server', async () => {
    const { authorization, begin } = await openLogin()
    const login = await begin()
    const answer = (await authorization.approve(login.url)).searchParams
    answer.set('iss', 'https://evil.example.org')
    await expect(login.finish(answer)).rejects.toThrow()
    expect(authorization.tokenRequests).toEqual([])
  })

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'ms-msdt:/id'])(
    'SEC-8a rejects the login page %s',
    async (page) => {
      const metadata = { authorization_endpoint: page }
      const { begin } = await openLogin({ authorization: { metadata } })
      await expect(begin()).rejects.toThrow()
    },
  )

  it('TOOL-12a reports what the authorization server rejected', async () => {
    const { begin } = await openLogin()
    const login = await begin()
    const answer = new URLSearchParams({ error: 'access_denied', state: 'state-of-this-login' })
    await expect(login.finish(answer)).rejects.toThrow()
  })
})

describe('requests to the authorization server', () => {
  it('SEC-8 do not reach an address of the network that the owner did not name', async () => {
    const { authorization, server, begin } = await openLogin({ allowedHosts: [] })
    await expect(begin()).rejects.toThrow('127.0.0.1 is not a public address')
    expect(server.requests).toContain('GET /.well-known/oauth-protected-resource')
    expect(authorization.requests).toEqual([])
  })

  it('SEC-8 do not reach metadata at such an address', async () => {
    const inner = await startAuthorizationServer()
    open.push(inner)
    const { begin } = await openLogin({ allowedHosts: [], metadataUrl: `${inner.origin}/latest/meta-data` })
    await expect(begin()).rejects.toThrow('127.0.0.1 is not a public address')
    expect(inner.requests).toEqual([])
  })

  it.each(['registration_endpoint', 'token_endpoint'])('SEC-8 do not reach a %s at such an address', async (name) => {
    const inner = await startAuthorizationServer()
    open.push(inner)
    const metadata = { [name]: `${inner.origin}/latest` }
    const authorization = await startAuthorizationServer({ metadata })
    const server = await startProtectedServer({ authorization, issuer: authorization.origin })
    const scene = await openMcp({ one: { url: server.url, headers: {} } }, { approved: false })
    open.push(authorization, server, scene)
    const allowedHosts = [{ host: '127.0.0.1', port: Number(new URL(authorization.origin).port) }]
    const address = { url: server.url, headers: {} }
    const signal = AbortSignal.timeout(20_000)
    const redirectUrl = 'http://127.0.0.1:9/callback'
    const begun = beginLogin({
      server: 'one',
      address,
      scope: '',
      redirectUrl,
      state: 's',
      logins: scene.logins,
      allowedHosts,
      signal,
    })
    const finished = begun.then(async (login) => {
      open.push(login)
      await login.finish((await authorization.approve(login.url)).searchParams)
    })
    await expect(finished).rejects.toThrow('127.0.0.1 is not a public address')
    expect(inner.requests).toEqual([])
  })

  it('SEC-8 send no token request after a redirect to another origin', async () => {
    const inner = await startAuthorizationServer()
    open.push(inner)
    const { authorization, begin } = await openLogin({ authorization: { redirectTokensTo: `${inner.origin}/token` } })
    const login = await begin()
    const answer = (await authorization.approve(login.url)).searchParams
    await expect(login.finish(answer)).rejects.toThrow()
    expect(inner.requests).toEqual([])
  })
})

describe('pasted text', () => {
  it('TOOL-12a is an address, its parameters or a code', () => {
    const parameters = (text: string) => Object.fromEntries(readPastedAnswer(text) as URLSearchParams)
    expect(parameters(' http://127.0.0.1:9/callback?code=a%20b&state=s \n')).toEqual({ code: 'a b', state: 's' })
    expect(parameters('?code=a&state=s')).toEqual({ code: 'a', state: 's' })
    expect(parameters('code=a&state=s')).toEqual({ code: 'a', state: 's' })
    expect(parameters('127.0.0.1:9/callback?error=access_denied')).toEqual({ error: 'access_denied' })
    expect(readPastedAnswer('4/0AbC-_=')).toBe('4/0AbC-_=')
    expect(readPastedAnswer('')).toBeUndefined()
    expect(readPastedAnswer('two words')).toBeUndefined()
    expect(readPastedAnswer('http://[')).toBeUndefined()
  })

  it('TOOL-12a never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl({ withQueryParameters: true })), (text) => {
        const answer = readPastedAnswer(text)
        expect(answer === undefined || typeof answer === 'string' || answer instanceof URLSearchParams).toBe(true)
        if (typeof answer === 'string') expect(answer).toBe(text.trim())
      }),
    )
  })
})
