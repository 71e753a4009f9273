import { timingSafeEqual } from 'node:crypto'
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { type AllowedHost, EgressError } from '../../security/network/destinations.ts'
import { createLoginFetch, type McpLogins, readScopes } from './login.ts'
import type { McpAddress } from './server-program.ts'

export interface LoginOptions {
  server: string
  address: McpAddress
  /** The scopes that the server asked for in its last refusal; empty: those that it usually asks for. */
  scope: string
  logins: Pick<McpLogins, 'read' | 'save'>
  allowedHosts: readonly AllowedHost[]
  signal: AbortSignal
}

/** The authorization server of an MCP server, and the scopes to ask for. Nothing is registered yet. */
export async function findAuthorization(options: LoginOptions) {
  const { server, address, logins, signal } = options
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

  /** The library replaces a refusal of the guard by a vaguer error. */
  async function explained<T>(work: Promise<T>): Promise<T> {
    refusal = undefined
    return await work.catch((cause: unknown) => {
      throw refusal ?? cause
    })
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

  async function find() {
    const { resourceMetadataUrl, scope: asked } = await readChallenge()
    const given = { ...(resourceMetadataUrl && { resourceMetadataUrl }), fetchFn: fetch }
    const found = await sdk.discoverOAuthServerInfo(address.url, given).catch((cause: unknown) => {
      // A server of the protocol of March 2025 has its metadata at the root of its origin, whatever its issuer.
      const root = new URL('/', address.url)
      const isOfRoot =
        sdk.IssuerMismatchError.isInstance(cause) &&
        cause.expected === root.href &&
        URL.parse(cause.received ?? '')?.origin === root.origin
      if (!isOfRoot) throw cause
      return sdk.discoverOAuthServerInfo(address.url, { ...given, skipIssuerMetadataValidation: true })
    })
    // The library treats a refusal of the guard like missing metadata.
    if (refusal) throw refusal
    const { authorizationServerMetadata: metadata, resourceMetadata } = found
    // The protocol requires rejecting a server that does not declare PKCE support.
    if (metadata && !metadata.code_challenge_methods_supported?.includes('S256')) {
      throw new Error('its authorization server does not support PKCE with S256')
    }
    // A wider login keeps the scopes of the one before.
    const before = options.scope === '' ? undefined : (await logins.read(server, address.url))?.scope
    const usual = asked ?? resourceMetadata?.scopes_supported?.join(' ')
    const scope = readScopes(sdk.computeScopeUnion(usual, before, options.scope))
    const discovery: OAuthDiscoveryState = {
      ...found,
      authorizationServerUrl: String(found.authorizationServerUrl),
      ...(resourceMetadataUrl && { resourceMetadataUrl: resourceMetadataUrl.href }),
    }
    return { discovery, metadata, scope: scope === '' ? undefined : scope }
  }

  try {
    return { sdk, fetch, explained, ...(await explained(find())), close: () => guarded.close() }
  } catch (cause) {
    await guarded.close()
    throw cause
  }
}

type Authorization = Awaited<ReturnType<typeof findAuthorization>>
type Metadata = Authorization['metadata']

const withRevocation = z.object({ revocation_endpoint: z.url().optional().catch(undefined) })

/** The vault's form of a login that has just succeeded. */
export async function saveLogin(
  { server, address, logins }: LoginOptions,
  { discovery, metadata, scope }: Pick<Authorization, 'discovery' | 'metadata' | 'scope'>,
  got: { tokens: StoredOAuthTokens; client: StoredOAuthClientInformation; resource: string | null },
): Promise<void> {
  const { tokens, client, resource } = got
  const authMethod = 'token_endpoint_auth_method' in client ? client.token_endpoint_auth_method : undefined
  await logins.save(server, {
    url: address.url,
    issuer: metadata?.issuer ?? discovery.authorizationServerUrl,
    tokenEndpoint: metadata?.token_endpoint ?? `${new URL(discovery.authorizationServerUrl).origin}/token`,
    authMethods: metadata?.token_endpoint_auth_methods_supported ?? [],
    revocationEndpoint: withRevocation.parse(metadata ?? {}).revocation_endpoint ?? null,
    resource,
    clientId: client.client_id,
    clientSecret: client.client_secret ?? null,
    clientAuthMethod: typeof authMethod === 'string' ? authMethod : null,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? null,
    // A server that does not name the scopes has granted what was asked for.
    scope: readScopes(tokens.scope ?? scope),
  })
}

/** The client that the owner named: registered manually, or by the address of its metadata document. */
function configuredClient(
  { oauth }: McpAddress,
  metadata: Metadata,
  issuer: string | undefined,
): StoredOAuthClientInformation | undefined {
  if (!oauth) return undefined
  const canRegister = metadata === undefined || metadata.registration_endpoint !== undefined
  // The library takes a document where the server supports them; elsewhere a registration works.
  if (documentOf(oauth) && (metadata?.client_id_metadata_document_supported || canRegister)) return undefined
  return {
    client_id: oauth.clientId,
    ...(oauth.clientSecret !== null && { client_secret: oauth.clientSecret }),
    ...(issuer !== undefined && { issuer }),
  }
}

/** The client that needs no registration. */
export function clientFor(address: McpAddress, metadata: Metadata): StoredOAuthClientInformation | undefined {
  const document = address.oauth && documentOf(address.oauth)
  if (document !== undefined && metadata?.client_id_metadata_document_supported) return { client_id: document }
  return configuredClient(address, metadata, undefined)
}

function documentOf({ clientId, clientSecret }: NonNullable<McpAddress['oauth']>): string | undefined {
  const url = clientSecret === null ? URL.parse(clientId) : null
  return url?.protocol === 'https:' && url.pathname !== '/' ? url.href : undefined
}

/** Without a secret if the server allows it: a program on the user's machine cannot keep one. */
export function authMethodFor(metadata: Metadata): string {
  const supported = metadata?.token_endpoint_auth_methods_supported
  if (!supported || supported.includes('none')) return 'none'
  return supported.find((method) => method === 'client_secret_basic' || method === 'client_secret_post') ?? 'none'
}

/** A login that waits for the user, who has to open `url` in a browser. */
export type PendingLogin = Awaited<ReturnType<typeof beginLogin>>

/** Finds the login page, registers Familiar there and prepares the address for the browser. */
export async function beginLogin(options: LoginOptions & { redirectUrl: string; state: string }) {
  const { address, redirectUrl, state } = options
  const found = await findAuthorization(options)
  const { sdk, fetch, explained, metadata, scope } = found

  let { discovery } = found
  let url: URL | undefined
  let codeVerifier = ''
  let client: StoredOAuthClientInformation | undefined
  let tokens: StoredOAuthTokens | undefined
  let resource: string | null = null
  const document = address.oauth && documentOf(address.oauth)
  const provider: OAuthClientProvider & { saveResourceUrl(url: string): void } = {
    redirectUrl,
    ...(document !== undefined && { clientMetadataUrl: document }),
    clientMetadata: {
      client_name: 'Familiar',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethodFor(metadata),
    },
    state: () => state,
    clientInformation: (context) => client ?? configuredClient(address, metadata, context?.issuer),
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
    await explained(sdk.auth(provider, { serverUrl: address.url, ...(scope && { scope }), fetchFn: fetch }))
    if (!url || !/^https?:$/.test(url.protocol)) throw new Error('its login page is not at a web address')
  } catch (cause) {
    await found.close()
    throw cause
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
      await explained(typeof answer === 'string' ? transport.finishAuth(answer) : transport.finishAuth(answer))
      const known = client ?? configuredClient(address, metadata, tokens?.issuer)
      if (!tokens || !known) throw new Error('the authorization server sent no token')
      await saveLogin(options, { discovery, metadata, scope }, { tokens, client: known, resource })
    },
    close: () => found.close(),
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
