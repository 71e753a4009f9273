import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createSdkServer } from './sdk-server.ts'

interface Listening {
  origin: string
  /** Method and path of each request, oldest first. */
  requests: string[]
  headers: IncomingHttpHeaders[]
  close(): Promise<void>
}

async function listen(handle: (origin: string) => RequestListener): Promise<Listening> {
  const requests: string[] = []
  const headers: IncomingHttpHeaders[] = []
  let listener: RequestListener = () => undefined
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    headers.push(request.headers)
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  listener = handle(origin)
  return {
    origin,
    requests,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

interface Grant {
  clientId: string
  redirectUri: string
  challenge: string
}

export interface AuthorizationServer extends Listening {
  /** The steps of the user's browser: logs in, agrees, and ends on this address. */
  approve(url: URL | string): Promise<URL>
  isValid(token: string): boolean
  /** Every access token from now on is refused; refresh tokens still work. */
  expire(): void
  /** Refresh tokens are refused, too. */
  revoke(): void
  /** Bodies of what was sent to the token endpoint. */
  tokenRequests: URLSearchParams[]
  tokens: string[]
  /** Tokens that clients asked to revoke, with their hints. */
  revoked: string[]
  /** Bodies of registrations. */
  registrations: { [key: string]: unknown }[]
  /** The user types this code on another device. */
  typeCode(code: string): void
  scopeOf(token: string): string
}

/**
 * An authorization server of OAuth 2.1 as strict as real ones: a code works once, only for its client, address and PKCE
 * verifier; a refresh token works once.
 */
export async function startAuthorizationServer(
  options: {
    metadata?: object
    registers?: boolean
    clientSecret?: string
    redirectTokensTo?: string
    revokes?: boolean
    hasDevices?: boolean
  } = {},
): Promise<AuthorizationServer> {
  const clients = new Map<string, string[]>()
  const codes = new Map<string, Grant>()
  const devices = new Map<
    string,
    { clientId: string; userCode: string; scope: string; isTyped: boolean; polls: number }
  >()
  const revoked: string[] = []
  const registrations: { [key: string]: unknown }[] = []
  /** With their scopes. */
  const access = new Map<string, string>()
  const scopes = new Map<string, string>()
  const refresh = new Map<string, string>()
  const tokenRequests: URLSearchParams[] = []
  const tokens: string[] = []
  clients.set('by-hand', [])

  const listening = await listen((origin) => async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin)
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    switch (pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          ...(options.registers !== false && { registration_endpoint: `${origin}/register` }),
          ...(options.revokes && { revocation_endpoint: `${origin}/revoke` }),
          ...(options.hasDevices && { device_authorization_endpoint: `${origin}/device` }),
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
          ...options.metadata,
        })
      case '/register': {
        const given = JSON.parse(await bodyOf(request))
        const id = randomUUID()
        registrations.push(given)
        clients.set(id, given.redirect_uris)
        return json(201, {
          ...given,
          client_id: id,
          ...(options.clientSecret && { client_secret: options.clientSecret }),
        })
      }
      case '/authorize': {
        const [clientId, redirectUri] = [searchParams.get('client_id') ?? '', searchParams.get('redirect_uri') ?? '']
        const registered = clients.get(clientId)
        const isKnown = registered?.includes(redirectUri) || clientId === 'by-hand'
        if (!isKnown || searchParams.get('code_challenge_method') !== 'S256')
          return json(400, { error: 'invalid_request' })
        const code = randomUUID()
        scopes.set(clientId, searchParams.get('scope') ?? '')
        codes.set(code, { clientId, redirectUri, challenge: searchParams.get('code_challenge') ?? '' })
        const back = new URL(redirectUri)
        back.searchParams.set('code', code)
        back.searchParams.set('state', searchParams.get('state') ?? '')
        back.searchParams.set('iss', origin)
        return response.writeHead(302, { location: back.href }).end()
      }
      case '/token': {
        const { redirectTokensTo: location } = options
        if (location) return response.writeHead(307, { location }).end()
        const body = new URLSearchParams(await bodyOf(request))
        tokenRequests.push(body)
        const device = devices.get(body.get('device_code') ?? '')
        if (device && !device.isTyped) {
          device.polls += 1
          return json(400, { error: device.polls === 1 ? 'slow_down' : 'authorization_pending' })
        }
        const uses = { refresh_token: useRefresh, authorization_code: useCode }[body.get('grant_type') ?? '']
        const isOwnLogin = body.get('grant_type') === 'client_credentials'
        const basic = `Basic ${Buffer.from(`by-hand:${options.clientSecret}`).toString('base64')}`
        if (isOwnLogin && request.headers.authorization !== basic) return json(401, { error: 'invalid_client' })
        const clientId = isOwnLogin ? 'by-hand' : uses ? uses(body) : device?.clientId
        if (clientId === undefined) return json(400, { error: 'invalid_grant' })
        const [accessToken, refreshToken] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`]
        access.set(accessToken, scopes.get(clientId) ?? '')
        refresh.set(refreshToken, clientId)
        tokens.push(accessToken, refreshToken)
        return json(200, {
          access_token: accessToken,
          refresh_token: refreshToken,
          token_type: 'Bearer',
          expires_in: 60,
        })
      }
      case '/revoke': {
        const body = new URLSearchParams(await bodyOf(request))
        const token = body.get('token') ?? ''
        if (!clients.has(body.get('client_id') ?? '')) return json(401, { error: 'invalid_client' })
        revoked.push(`${body.get('token_type_hint')} ${token}`)
        access.delete(token)
        refresh.delete(token)
        return response.writeHead(200).end()
      }
      case '/device': {
        const body = new URLSearchParams(await bodyOf(request))
        const [clientId, scope] = [body.get('client_id') ?? '', body.get('scope') ?? '']
        if (!clients.has(clientId)) return json(401, { error: 'invalid_client' })
        const deviceCode = randomUUID()
        scopes.set(clientId, scope)
        devices.set(deviceCode, { clientId, scope, userCode: 'WDJB-MJHT', isTyped: false, polls: 0 })
        const code = { device_code: deviceCode, user_code: 'WDJB-MJHT', expires_in: 600, interval: 1 }
        return json(200, { ...code, verification_uri: `${origin}/type` })
      }
      default:
        return json(404, {})
    }
  })

  function useCode(body: URLSearchParams): string | undefined {
    const grant = codes.get(body.get('code') ?? '')
    codes.delete(body.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url')
    const fits = grant && grant.challenge === challenge && grant.redirectUri === body.get('redirect_uri')
    return fits && grant.clientId === body.get('client_id') ? grant.clientId : undefined
  }

  function useRefresh(body: URLSearchParams): string | undefined {
    const token = body.get('refresh_token') ?? ''
    const clientId = refresh.get(token)
    refresh.delete(token)
    return clientId === body.get('client_id') ? clientId : undefined
  }

  return {
    ...listening,
    tokenRequests,
    tokens,
    revoked,
    registrations,
    typeCode(code) {
      for (const device of devices.values()) if (device.userCode === code) device.isTyped = true
    },
    scopeOf: (token) => access.get(token) ?? '',
    async approve(url) {
      const response = await fetch(url, { redirect: 'manual' })
      const location = response.headers.get('location')
      if (!location) throw new Error(`The login page answered ${response.status}: ${await response.text()}`)
      return new URL(location)
    },
    isValid: (token) => access.has(token),
    expire: () => access.clear(),
    revoke() {
      access.clear()
      refresh.clear()
    },
  }
}

export interface ProtectedServer extends Listening {
  url: string
}

/** An MCP server that takes the tokens of an authorization server. */
export function startProtectedServer(options: {
  authorization: Pick<AuthorizationServer, 'isValid' | 'scopeOf'>
  /** The login address in its metadata. */
  issuer: string
  /** The metadata address in its response. */
  metadataUrl?: string
  /** The scope that every tool call needs; listing needs none. */
  scopeOfCalls?: string
}): Promise<ProtectedServer> {
  const handler = createMcpHandler(() => createSdkServer())
  const serve = getRequestListener((request) => handler.fetch(request))
  return listen((origin) => async (request, response) => {
    const wellKnown = '/.well-known/oauth-protected-resource'
    if (request.url === wellKnown) {
      const metadata = { resource: `${origin}/mcp`, authorization_servers: [options.issuer] }
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
    }
    if (request.url !== '/mcp') return response.writeHead(404).end()
    const token = request.headers.authorization?.replace(/^Bearer /, '')
    const { authorization, scopeOfCalls: scope } = options
    if (token !== undefined && authorization.isValid(token)) {
      const isCall = request.headers['mcp-method'] === 'tools/call'
      if (!isCall || scope === undefined || authorization.scopeOf(token).split(' ').includes(scope))
        return void serve(request, response)
      const lacks = `Bearer error="insufficient_scope", scope="${scope}"`
      return response.writeHead(403, { 'www-authenticate': lacks }).end()
    }
    const challenge = `Bearer resource_metadata="${options.metadataUrl ?? `${origin}${wellKnown}`}"`
    return response.writeHead(401, { 'www-authenticate': challenge }).end()
  }).then((listening) => ({ ...listening, url: `${listening.origin}/mcp` }))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
