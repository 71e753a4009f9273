import { createPrivateKey } from 'node:crypto'
import type {
  AuthProvider,
  ClientCredentialsProvider,
  OAuthClientInformationMixed,
  PrivateKeyJwtProvider,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { reasonOf } from '../../base/text.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { AllowedHost } from '../../security/network/destinations.ts'
import { createGuardedFetch, type GuardedFetch } from '../../security/network/guarded-fetch.ts'
import type { Redactor } from '../../security/redactor.ts'
import type { Vault } from '../../security/vault.ts'
import { allowedHostOf } from '../builtin/fetches.ts'
import type { McpAddress } from './server-program.ts'

/** There is no login, the server no longer accepts it, or it lacks a scope. */
export class LoginNeeded extends Error {
  /** The scopes that the server asked for; empty if it named none. */
  readonly scope: string
  constructor(server: string, scope = '') {
    const why = scope === '' ? 'it needs login' : `it needs a login with the scope ${scope}`
    super(`${why}: run \`familiar mcp login ${server}\``)
    this.name = 'LoginNeeded'
    this.scope = scope
  }
}

/** The login already has every scope that the server asked for, so another login would not help. */
export class LoginRefused extends Error {}

const maxScopeCharacters = 500

/** The scopes of a server's refusal. It is untrusted text: anything but scopes as OAuth defines them is dropped. */
export function readScopes(text: string | null | undefined): string {
  const words = (text ?? '').slice(0, maxScopeCharacters).split(/\s+/)
  return [...new Set(words.filter((word) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(word)))].join(' ')
}

const storedSchema = z.object({
  /** The address of the login. A server of the same name at another address gets no token. */
  url: z.string(),
  issuer: z.string(),
  tokenEndpoint: z.string(),
  authMethods: z.array(z.string()),
  resource: z.string().nullable(),
  clientId: z.string(),
  clientAuthMethod: z.string().nullable(),
  /** The scopes of the access token. */
  scope: z.string().default(''),
  revocationEndpoint: z.string().nullable().default(null),
})

/** The result of a login: the access token, and what refreshing it needs. */
export interface McpLogin extends z.infer<typeof storedSchema> {
  accessToken: string
  refreshToken: string | null
  clientSecret: string | null
}

/** Logins at MCP servers, in the vault under `mcp:NAME`, each token in its own row so that it is redacted. */
export type McpLogins = ReturnType<typeof createMcpLogins>

const secretNames = ['access_token', 'refresh_token', 'client_secret', 'login'] as const
type SecretName = (typeof secretNames)[number]

export function createMcpLogins(dependencies: {
  vault: Pick<Vault, 'get' | 'set' | 'delete'>
  userId: string
  /** Another process may have logged in: each value that is read is redacted from then on. */
  redactor: Pick<Redactor, 'add'>
}) {
  const { vault, userId, redactor } = dependencies
  const redacted = new Set<string>()

  const secretOf = (server: string, name: SecretName) => ({ userId, owner: `mcp:${server}`, name })

  async function get(server: string, name: SecretName): Promise<string | null> {
    // An unreadable secret, because the vault key is lost, counts as no login: servers without one still work.
    const value = await vault.get(secretOf(server, name)).catch((cause: unknown) => {
      if (cause instanceof FamiliarError) return undefined
      throw cause
    })
    if (value !== undefined && name !== 'login' && !redacted.has(value)) {
      redacted.add(value)
      redactor.add(value)
    }
    return value ?? null
  }

  async function put(server: string, name: SecretName, value: string | null): Promise<void> {
    if (value === null) await vault.delete(secretOf(server, name))
    else await vault.set(secretOf(server, name), value)
  }

  return {
    async read(server: string, url: string): Promise<McpLogin | undefined> {
      const text = await get(server, 'login')
      if (text === null) return undefined
      const stored = parseJson(text, storedSchema)
      if (!stored.ok || stored.value.url !== url) return undefined
      const accessToken = await get(server, 'access_token')
      if (accessToken === null) return undefined
      const refreshToken = await get(server, 'refresh_token')
      const clientSecret = await get(server, 'client_secret')
      return { ...stored.value, accessToken, refreshToken, clientSecret }
    },
    async save(server: string, login: McpLogin): Promise<void> {
      const { accessToken, refreshToken, clientSecret, ...stored } = login
      await put(server, 'client_secret', clientSecret)
      await put(server, 'refresh_token', refreshToken)
      await put(server, 'access_token', accessToken)
      await put(server, 'login', JSON.stringify(stored))
    },
    async remove(server: string): Promise<boolean> {
      let existed = false
      for (const name of secretNames) existed = (await vault.delete(secretOf(server, name))) || existed
      return existed
    },
  }
}

/** A server with an `Authorization` header does not use a login, and one with client credentials needs no user for it. */
export function takesLogin(address: McpAddress): boolean {
  if (address.oauth?.isOwnLogin) return false
  return !Object.keys(address.headers).some((name) => name.toLowerCase() === 'authorization')
}

/** The server's own address, which the owner named, and the hosts that the owner listed for everything. */
export function hostsOf(address: McpAddress, allowedHosts: readonly AllowedHost[]): AllowedHost[] {
  return [...allowedHosts, allowedHostOf(new URL(address.url))]
}

const maxAnswerBytes = 256 * 1024

/**
 * The fetch for authorization servers: with the guard and hosts of the MCP server, so that metadata cannot point into
 * the owner's network (SEC-8). The server's configured headers are not sent there.
 */
export function createLoginFetch(address: McpAddress, allowedHosts: readonly AllowedHost[]): GuardedFetch {
  return createGuardedFetch({ allowedHosts: hostsOf(address, allowedHosts), maxBytes: maxAnswerBytes })
}

/** Sends the token of the login, and refreshes it when the server rejects it. */
export function createLoginAuth(options: {
  server: string
  address: McpAddress
  logins: Pick<McpLogins, 'read' | 'save'>
  fetch: GuardedFetch
}): AuthProvider {
  const { server, address, logins, fetch } = options
  let sent: string | undefined
  let refreshing: Promise<void> | undefined

  async function refresh(): Promise<void> {
    const refused = sent
    const login = await logins.read(server, address.url)
    // Another request, daemon or command has refreshed it or logged in meanwhile.
    if (login && login.accessToken !== refused) return
    if (!login?.refreshToken) throw new LoginNeeded(server)
    const sdk = await import('@modelcontextprotocol/client')
    try {
      const tokens = await sdk.refreshAuthorization(login.issuer, {
        metadata: {
          issuer: login.issuer,
          authorization_endpoint: login.issuer,
          token_endpoint: login.tokenEndpoint,
          response_types_supported: ['code'],
          token_endpoint_auth_methods_supported: login.authMethods,
        },
        clientInformation: clientOf(login),
        refreshToken: login.refreshToken,
        ...(login.resource !== null && { resource: login.resource }),
        fetchFn: fetch,
      })
      await logins.save(server, {
        ...login,
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token ?? login.refreshToken,
        scope: readScopes(tokens.scope) || login.scope,
      })
    } catch (cause) {
      // The authorization server is down: the login may still be valid.
      if (!sdk.OAuthError.isInstance(cause) || cause.code === sdk.OAuthErrorCode.ServerError) throw cause
      const now = await logins.read(server, address.url)
      if (now && now.accessToken !== login.accessToken) return
      throw new LoginNeeded(server)
    }
  }

  return {
    async token() {
      sent = (await logins.read(server, address.url))?.accessToken
      return sent
    },
    onUnauthorized() {
      // A refresh token often works once: all rejected requests share one refresh.
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      return refreshing
    },
  }
}

type Unauthorized = Parameters<NonNullable<AuthProvider['onUnauthorized']>>[0]

/**
 * Signs in without a user, by client credentials: with the client's secret, or with a statement that its key signed.
 * The token stays in memory, because a new one can be had at any time.
 */
export function createClientAuth(options: { address: McpAddress; fetch: GuardedFetch }): AuthProvider {
  const { address, fetch } = options
  let provider: ClientCredentialsProvider | PrivateKeyJwtProvider | undefined
  let asking: Promise<void> | undefined

  async function signIn({ response, serverUrl }: Unauthorized): Promise<void> {
    const sdk = await import('@modelcontextprotocol/client')
    const { clientId, clientSecret, privateKey } = address.oauth ?? { clientId: '', clientSecret: null }
    provider = privateKey
      ? new sdk.PrivateKeyJwtProvider({ clientId, privateKey, algorithm: algorithmOf(privateKey) })
      : new sdk.ClientCredentialsProvider({ clientId, clientSecret: clientSecret ?? '' })
    const { resourceMetadataUrl, scope } = sdk.extractWWWAuthenticateParams(response)
    const known = { ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope && { scope: readScopes(scope) }) }
    try {
      await sdk.auth(provider, { serverUrl, ...known, fetchFn: fetch })
    } catch (cause) {
      throw new LoginRefused(`the login with oauth_client_id failed: ${reasonOf(cause)}`)
    }
  }

  return {
    token: async () => provider?.tokens()?.access_token,
    onUnauthorized(context) {
      asking ??= signIn(context).finally(() => {
        asking = undefined
      })
      return asking
    },
  }
}

function algorithmOf(privateKey: string): string {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPrivateKey(privateKey)
  if (type === 'ed25519') return 'EdDSA'
  if (type !== 'ec') return 'RS256'
  return details?.namedCurve === 'secp384r1' ? 'ES384' : 'ES256'
}

function clientOf({ clientId, clientSecret, clientAuthMethod }: McpLogin): OAuthClientInformationMixed {
  return {
    client_id: clientId,
    ...(clientSecret !== null && { client_secret: clientSecret }),
    ...(clientAuthMethod !== null && { token_endpoint_auth_method: clientAuthMethod }),
  }
}

/** Sends a form as the client, authenticated as at the token endpoint. Follows no redirect. */
export async function postForm(options: {
  url: string
  fields: Record<string, string>
  client: OAuthClientInformationMixed
  authMethods: readonly string[]
  fetch: (url: URL, init: RequestInit) => Promise<Response>
  signal: AbortSignal
}): Promise<Response> {
  const { client, fields, signal } = options
  const url = new URL(options.url)
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url.protocol !== 'https:' && !isLocal) throw new Error(`${url.origin} is not encrypted`)
  const sdk = await import('@modelcontextprotocol/client')
  const method = sdk.selectClientAuthMethod(client, [...options.authMethods])
  const headers = new Headers({ accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' })
  const secret = client.client_secret ?? ''
  const body = new URLSearchParams(fields)
  if (method === 'client_secret_basic') {
    const pair = [client.client_id, secret].map(encodeURIComponent).join(':')
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
  } else body.set('client_id', client.client_id)
  if (method === 'client_secret_post') body.set('client_secret', secret)
  return await options.fetch(url, { method: 'POST', headers, body: body.toString(), redirect: 'manual', signal })
}

/** `not_offered`: its authorization server has no revocation endpoint (RFC 7009). */
export type Revocation = 'revoked' | 'not_offered' | 'failed'

/** Asks the authorization server to end both tokens of a login. */
export async function revokeLogin(options: {
  login: McpLogin
  fetch: GuardedFetch
  signal: AbortSignal
}): Promise<Revocation> {
  const { login, fetch, signal } = options
  const { revocationEndpoint: url, refreshToken, accessToken, authMethods } = login
  if (url === null) return 'not_offered'
  // The refresh token first: without it, nothing can make new tokens.
  const tokens = { refresh_token: refreshToken, access_token: accessToken }
  try {
    for (const [hint, token] of Object.entries(tokens)) {
      if (token === null) continue
      const fields = { token, token_type_hint: hint }
      const response = await postForm({ url, fields, client: clientOf(login), authMethods, fetch, signal })
      await response.body?.cancel()
      if (!response.ok) return 'failed'
    }
    return 'revoked'
  } catch {
    return 'failed'
  }
}
