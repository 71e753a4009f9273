import { timingSafeEqual } from 'node:crypto'
import type {
  AuthProvider,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { type AllowedHost, EgressError } from '../../security/network/destinations.ts'
import { createGuardedFetch, type GuardedFetch } from '../../security/network/guarded-fetch.ts'
import type { Redactor } from '../../security/redactor.ts'
import type { Vault } from '../../security/vault.ts'
import { allowedHostOf } from '../builtin/fetches.ts'
import type { McpAddress } from './server-program.ts'

/** There is no login, or the server no longer accepts it. */
export class LoginNeeded extends Error {
  constructor(server: string) {
    super(`it needs login: run \`familiar mcp login ${server}\``)
    this.name = 'LoginNeeded'
  }
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
})

/** The result of a login: the access token, and what refreshing it needs. */
interface McpLogin extends z.infer<typeof storedSchema> {
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

/** A server with an `Authorization` header does not use a login. */
export function takesLogin(address: McpAddress): boolean {
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
        clientInformation: {
          client_id: login.clientId,
          ...(login.clientSecret !== null && { client_secret: login.clientSecret }),
          ...(login.clientAuthMethod !== null && { token_endpoint_auth_method: login.clientAuthMethod }),
        },
        refreshToken: login.refreshToken,
        ...(login.resource !== null && { resource: login.resource }),
        fetchFn: fetch,
      })
      await logins.save(server, {
        ...login,
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token ?? login.refreshToken,
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

/** A login that waits for the user, who has to open `url` in a browser. */
export type PendingLogin = Awaited<ReturnType<typeof beginLogin>>

/** Finds the login page, registers Familiar there and prepares the address for the browser. */
export async function beginLogin(options: {
  server: string
  address: McpAddress
  redirectUrl: string
  state: string
  logins: Pick<McpLogins, 'save'>
  allowedHosts: readonly AllowedHost[]
  signal: AbortSignal
}) {
  const { server, address, redirectUrl, state, logins, signal } = options
  const sdk = await import('@modelcontextprotocol/client')
  const guarded = createLoginFetch(address, options.allowedHosts)
  let refusal: EgressError | undefined
  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    try {
      return await guarded(input, { ...init, signal })
    } catch (cause) {
      if (cause instanceof EgressError) refusal = cause
      throw cause
    }
  }

  let url: URL | undefined
  let codeVerifier = ''
  let client: StoredOAuthClientInformation | undefined
  let discovery: OAuthDiscoveryState | undefined
  let tokens: StoredOAuthTokens | undefined
  let resource: string | null = null
  const provider: OAuthClientProvider & { saveResourceUrl(url: string): void } = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Familiar',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => state,
    clientInformation: (context) => client ?? configuredClient(address, context?.issuer),
    saveClientInformation: (given) => {
      client = given
    },
    tokens: () => undefined,
    saveTokens: (given) => {
      tokens = given
    },
    redirectToAuthorization: (given) => {
      url = given
    },
    saveCodeVerifier: (given) => {
      codeVerifier = given
    },
    codeVerifier: () => codeVerifier,
    saveDiscoveryState: (given) => {
      discovery = given
    },
    discoveryState: () => discovery,
    saveResourceUrl: (given) => {
      resource = String(given)
    },
  }

  try {
    const challenge = await readChallenge()
    await sdk.auth(provider, { serverUrl: address.url, ...challenge, fetchFn: fetch })
    checkPkce(discovery)
    if (!url || !/^https?:$/.test(url.protocol)) throw new Error('its login page is not at a web address')
  } catch (cause) {
    await guarded.close()
    throw refusal ?? cause
  }

  async function readChallenge(): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
    const response = await fetch(address.url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        ...address.headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    })
    void response.body?.cancel().catch(() => {})
    const { resourceMetadataUrl, scope } = response.status === 401 ? sdk.extractWWWAuthenticateParams(response) : {}
    return { ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope && { scope }) }
  }

  function isOwn(answer: URLSearchParams): boolean {
    const [given, expected] = [Buffer.from(answer.get('state') ?? ''), Buffer.from(state)]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  return {
    url,
    isOwn,
    /**
     * `answer`: the parameters that the browser returned, or the bare code. Throws if they do not belong to this login;
     * another answer can still be given.
     */
    async finish(answer: URLSearchParams | string): Promise<void> {
      if (typeof answer !== 'string' && !isOwn(answer)) {
        throw new Error('this is not the answer to this login (its `state` differs)')
      }
      const transport = new sdk.StreamableHTTPClientTransport(new URL(address.url), { authProvider: provider, fetch })
      refusal = undefined
      await (typeof answer === 'string' ? transport.finishAuth(answer) : transport.finishAuth(answer)).catch(
        (cause: unknown) => {
          throw refusal ?? cause
        },
      )
      const metadata = discovery?.authorizationServerMetadata
      const known = client ?? configuredClient(address, tokens?.issuer)
      if (!tokens || !known || !discovery) throw new Error('the authorization server sent no token')
      const issuer = metadata?.issuer ?? discovery.authorizationServerUrl
      const authMethod = 'token_endpoint_auth_method' in known ? known.token_endpoint_auth_method : undefined
      await logins.save(server, {
        url: address.url,
        issuer,
        tokenEndpoint: metadata?.token_endpoint ?? `${new URL(discovery.authorizationServerUrl).origin}/token`,
        authMethods: metadata?.token_endpoint_auth_methods_supported ?? [],
        resource,
        clientId: known.client_id,
        clientSecret: known.client_secret ?? null,
        clientAuthMethod: typeof authMethod === 'string' ? authMethod : null,
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token ?? null,
      })
    },
    close: () => guarded.close(),
  }
}

/** A client that the owner registered manually, for servers without registration. */
function configuredClient({ oauth }: McpAddress, issuer: string | undefined): StoredOAuthClientInformation | undefined {
  if (!oauth) return undefined
  return {
    client_id: oauth.clientId,
    ...(oauth.clientSecret !== null && { client_secret: oauth.clientSecret }),
    ...(issuer !== undefined && { issuer }),
  }
}

/** The protocol requires rejecting a server that does not declare PKCE support. */
function checkPkce(discovery: OAuthDiscoveryState | undefined): void {
  const metadata = discovery?.authorizationServerMetadata
  if (metadata && !metadata.code_challenge_methods_supported?.includes('S256')) {
    throw new Error('its authorization server does not support PKCE with S256')
  }
}

const maxPastedLength = 8_192

/** Reads pasted text: the final address of the browser, its parameters, or the code alone. */
export function readPastedAnswer(text: string): URLSearchParams | string | undefined {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.length > maxPastedLength || /\s/.test(trimmed)) return undefined
  if (/^https?:\/\//i.test(trimmed)) return URL.canParse(trimmed) ? new URL(trimmed).searchParams : undefined
  if (/(?:^|[?&])(?:code|error|state)=/.test(trimmed)) return new URLSearchParams(trimmed.replace(/^[^?]*\?/, ''))
  return trimmed
}
