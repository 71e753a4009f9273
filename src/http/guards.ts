import type { Hono, MiddlewareHandler } from 'hono'
import { getCookie } from 'hono/cookie'
import type { Logger } from '../base/logger.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { browserTokenPrefix, type LinkPurpose, type OneTimeLinks, type SignedInBrowsers } from '../security/sign-in.ts'
import { type Bearer, localTokenId, type RateLimiter, type TokenScope, tokenBits } from '../security/tokens.ts'
import { framePageHeaders, framePagePolicy } from '../tools/cards/frame-document.ts'
import type { HttpContext, HttpDependencies, HttpEnv, OpenedLink, WebhookCall, Webhooks } from './dependencies.ts'
import { covers } from './mcp/mcp-caller.ts'
import { createPackedFiles, type PageFiles, pageCookie } from './page.ts'
import { errorReply } from './replies.ts'
import type { Route } from './route.ts'
import { noSuchLink } from './secret-links.ts'

/** The checks for every request, also for paths that do not exist, in this order. */
export function addGuards(
  app: Hono<HttpEnv>,
  { settings, limiter, tokens, logger, page }: HttpDependencies,
  { guards, routes }: { guards: ReadonlySet<GuardName>; routes: readonly Route[] },
): void {
  const open = routes.filter((route) => route.auth !== 'token').map((route) => route.path.split('/'))
  const isOpen = (path: string) => open.some((pattern) => fits(pattern, path.split('/')))
  const failures = guards.has('failed_logins') ? limiter : undefined
  if (guards.has('host')) app.use(hostGuard(settings.allowedHosts))
  if (guards.has('origin')) app.use(originGuard(settings.allowedOrigins))
  if (guards.has('rate_limit')) app.use(rateLimitGuard(limiter))
  // The files of the page need no token; its requests do.
  if (page?.files) app.use(servePage(page.files))
  if (guards.has('token')) app.use(tokenGuard({ tokens, browsers: page?.browsers, failures, logger, isOpen }))
}

/** The checks for one route, before its handler runs. */
export function routeGuards(
  route: Route,
  { triggers, links, limiter, logger }: HttpDependencies,
  {
    guards,
    maxBodyBytes,
    bodyLoadGuard,
  }: {
    guards: ReadonlySet<GuardName>
    maxBodyBytes: number
    /** One for all routes: they share what it counts. */
    bodyLoadGuard: ReturnType<typeof createBodyLoadGuard>
  },
): MiddlewareHandler<HttpEnv>[] {
  const failures = guards.has('failed_logins') ? limiter : undefined
  return [
    ...(guards.has('scope') ? [scopeGuard(route.scope)] : []),
    ...(guards.has('owner') && route.isOwners ? [ownerGuard] : []),
    ...(guards.has('local') && route.isLocal ? [route.isLocal === 'page' ? localPageGuard : localGuard] : []),
    ...(guards.has('content_type') ? [contentTypeGuard(route.rawBody?.mediaTypes)] : []),
    ...(guards.has('body_size') ? [bodySizeGuard(maxBodyBytes)] : []),
    ...(guards.has('body_load') && !route.rawBody?.isSpooled ? [bodyLoadGuard(maxBodyBytes)] : []),
    ...(guards.has('signature') && route.auth === 'signature' && triggers
      ? [signatureGuard({ webhooks: triggers.webhooks, failures, logger, maxBodyBytes })]
      : []),
    ...(guards.has('link') && route.link && links
      ? [linkGuard({ links: links.store, purpose: route.link, failures, logger })]
      : []),
  ]
}

/** `/hooks/:tool` fits `/hooks/mail`, and nothing shorter or longer. */
function fits(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.length !== path.length) return false
  return pattern.every((part, index) => (part.startsWith(':') ? path[index] !== '' : part === path[index]))
}

const jsonTypes = ['application/json']
// Each form gets a separator of its own.
const boundary = /^(multipart\/form-data)\s*;\s*boundary=.{1,100}$/i
/** Recorders of browsers name the codec. A form of another site cannot send these types, with or without it. */
const codecs = /^((?:audio|video)\/[\w.+-]+)\s*;.{1,100}$/i
const charset = /\s*;\s*charset=utf-8\s*$/i

/** A form of another site can post text, but not JSON or our other types without a preflight request. */
function contentTypeGuard(mediaTypes: readonly string[] = jsonTypes): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const header = (context.req.header('content-type') ?? '').trim()
    const given = header.replace(charset, '').replace(boundary, '$1').replace(codecs, '$1').toLowerCase()
    if (!hasBody(context) || mediaTypes.includes(given)) return next()
    const what = mediaTypes === jsonTypes ? 'The body must be JSON' : 'The body has the wrong type'
    return errorReply(
      'unsupported_media_type',
      `${what}, with the header "Content-Type: ${mediaTypes.join('" or "')}".`,
    )
  }
}

export function hasBody(context: HttpContext): boolean {
  const length = context.req.header('content-length')
  return (length !== undefined && length !== '0') || context.req.header('transfer-encoding') !== undefined
}

/** No address is exempt, not even loopback: every page in the user's browser calls from there. */
function rateLimitGuard(limiter: RateLimiter): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const admission = limiter.admit(peerAddress(context))
    if (admission.ok) return next()
    throw tooMany('Too many requests from this address.', admission.retryAfterSeconds)
  }
}

export function tooMany(message: string, retryAfterSeconds: number): FamiliarError {
  return new FamiliarError('rate_limited', message, { retryAfterSeconds })
}

/** The address of the connection. Headers that claim another address are ignored: anyone can send them. */
export function peerAddress(context: HttpContext): string | undefined {
  return context.env?.incoming?.socket.remoteAddress
}

/**
 * Limits the total size of request bodies in memory; each is buffered whole, up to the limit of its route. A body
 * without a length counts with the limit of its route. One body is always accepted.
 */
export function createBodyLoadGuard(maxHeld: number): (maxBytes: number) => MiddlewareHandler<HttpEnv> {
  let held = 0
  return (maxBytes) => async (context, next) => {
    if (!hasBody(context)) return next()
    const bytes = Number(context.req.header('content-length') ?? maxBytes)
    if (held > 0 && held + bytes > maxHeld) throw tooMany('Too much data is being sent at once.', 1)
    held += bytes
    let isHeld = true
    const release = () => {
      if (isHeld) held -= bytes
      isHeld = false
    }
    // A reply can take minutes, and the body was read long before.
    context.set('onBodyRead', release)
    try {
      return await next()
    } finally {
      release()
    }
  }
}

/** Refuses a body by its declared length, before it is read. */
function bodySizeGuard(maxBytes: number): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (Number(context.req.header('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
    return next()
  }
}

/** The body as text. A body without a declared length is counted as it arrives. */
export async function readLimitedText(context: HttpContext, maxBytes: number): Promise<string> {
  if (context.req.header('content-length') !== undefined) return context.req.raw.text()
  return (await readBodyBytes(context, maxBytes)).toString('utf8')
}

export async function readBodyBytes(context: HttpContext, maxBytes: number): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(limitedBody(context, maxBytes)))
}

/** The body in pieces as it arrives, up to the limit. */
export async function* limitedBody(context: HttpContext, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of context.req.raw.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

function tooLarge(maxBytes: number): FamiliarError {
  return new FamiliarError('payload_too_large', `The body is larger than ${maxBytes.toLocaleString('en')} bytes.`)
}

/** All guards before a handler, in their order. */
export const guardNames = [
  'host',
  'origin',
  'rate_limit',
  'token',
  'failed_logins',
  'method',
  'scope',
  'owner',
  'local',
  'content_type',
  'body_size',
  'body_load',
  'signature',
  'link',
] as const

export type GuardName = (typeof guardNames)[number]

/**
 * The page may load its own scripts and styles and call its own server, nothing else. Cards need their one style sheet
 * and inline styles, which their frames inherit from here.
 */
const policy = Object.entries({
  'default-src': `'none'`,
  'script-src': `'self'`,
  'style-src': `'self'`,
  'connect-src': `'self'`,
  'font-src': `'self'`,
  'media-src': `'self' blob:`,
  'manifest-src': `'self'`,
  'worker-src': `'self'`,
  ...framePagePolicy,
  // For the documents of `frameHeaders`. All other replies refuse to be in a frame.
  'frame-src': `'self'`,
  'img-src': `'self' data: blob:`,
  'form-action': `'none'`,
  'base-uri': `'none'`,
  'frame-ancestors': `'none'`,
  'require-trusted-types-for': `'script'`,
  // For the frames of cards and the workers, each made once: a second policy of that name is refused.
  'trusted-types': 'familiar-card familiar-layout familiar-highlight familiar-worker familiar-pdf',
})
  .map(([name, value]) => `${name} ${value}`)
  .join('; ')

const pageHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self)',
  ...framePageHeaders,
}

/** A sandboxed origin without network, storage or cookies. Only this page may embed it. */
const framePolicy = (allowed: readonly string[]) =>
  [
    'sandbox allow-scripts',
    `default-src 'none'`,
    ...allowed,
    `form-action 'none'`,
    `base-uri 'none'`,
    `frame-ancestors 'self'`,
  ].join('; ')

/** The documents of the page's frames. */
const frameHeaders: Readonly<Record<string, Record<string, string>>> = {
  // Draws diagrams, and builds HTML from strings for that.
  '/diagram.html': {
    ...pageHeaders,
    'content-security-policy': framePolicy([`script-src 'self'`, `style-src 'unsafe-inline'`, 'img-src data:']),
  },
  // Shows HTML that a model or a tool wrote, with its own scripts. They can load nothing, not even files of the page.
  '/preview.html': {
    ...pageHeaders,
    'content-security-policy': framePolicy([
      `script-src 'unsafe-inline'`,
      `style-src 'unsafe-inline'`,
      'img-src data: blob:',
      'media-src data: blob:',
      'font-src data:',
      // Its own code turns off what no policy does, and this makes every text that becomes HTML pass that code.
      `require-trusted-types-for 'script'`,
      'trusted-types default',
    ]),
    'connection-allowlist': '()',
    'x-dns-prefetch-control': 'off',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), clipboard-read=(), clipboard-write=()',
  },
}

/** Whether a path belongs to the API, not to the page. */
const isProgram = (path: string) => /^\/(?:api|v1|mcp|tools|hooks|secret|healthz|readyz|metrics)(?:\/|$)/.test(path)

/**
 * The page, if it was built. It needs no token, because it contains no user data. Every path without a route is one of
 * its screens, so that a reload works.
 */
function servePage(files: PageFiles): MiddlewareHandler<HttpEnv> {
  const packed = createPackedFiles(files)
  return async (context, next) => {
    const { method, path } = context.req
    if ((method !== 'GET' && method !== 'HEAD') || isProgram(path)) return next()
    const isAsset = path.startsWith('/assets/')
    const isScreen = !isAsset && context.req.header('accept')?.includes('text/html')
    const file = packed(path) ?? (isScreen ? packed('/index.html') : undefined)
    if (!file) return next()
    const takesGzip = file.gzip !== undefined && /\bgzip\b/.test(context.req.header('accept-encoding') ?? '')
    const body = takesGzip ? file.gzip : file.plain
    return new Response(method === 'HEAD' ? null : new Uint8Array(body ?? []), {
      headers: {
        ...(frameHeaders[path] ?? pageHeaders),
        // They contain no user data, and the document of diagrams, which has no origin, loads its scripts from there.
        ...(isAsset && context.req.header('origin') === 'null' && { 'access-control-allow-origin': 'null' }),
        'content-type': file.mediaType,
        // Names of assets hold a hash of their content.
        'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
        vary: isAsset ? 'accept-encoding, origin' : 'accept-encoding',
        ...(takesGzip && { 'content-encoding': 'gzip' }),
      },
    })
  }
}

const ownNames = ['localhost', '127.0.0.1', '[::1]']

/**
 * An attacker can make their own host name point at this machine, and then the browser treats their page as one of
 * ours. The host name in the request reveals it.
 */
function hostGuard(allowedHosts: readonly string[]): MiddlewareHandler<HttpEnv> {
  const allowed = new Set([...ownNames, ...allowedHosts.map((host) => host.toLowerCase())])
  const isAllowed = (host: string) => allowed.has(host) || allowed.has(host.replace(/:\d{1,5}$/, ''))

  return async (context, next) => {
    const host = context.req.header('host')?.toLowerCase()
    if (!host || !isAllowed(host)) {
      return errorReply('forbidden', 'This host name is not allowed. See allowed_hosts in [http].')
    }
    // A request to a whole URL names a host twice, and the one in the URL counts.
    if (context.env?.incoming?.url?.startsWith('/') === false && !isAllowed(new URL(context.req.url).host)) {
      return errorReply('forbidden', 'This host name is not allowed.')
    }
    return next()
  }
}

/** Undefined: wrong credentials are not counted. */
type Failures = Pick<RateLimiter, 'mayAuthenticate' | 'countFailure'> | undefined

/** Counts a wrong link or signature. A right one cannot be guessed, so it passes regardless of the wrong ones. */
function countWrong(failures: Failures, address: string | undefined, what: string): void {
  const admission = failures?.mayAuthenticate(address) ?? { ok: true }
  if (!admission.ok) throw tooMany(`Too many wrong ${what} from this address.`, admission.retryAfterSeconds)
  failures?.countFailure(address)
}

/** Instead of an access token: a one-time link in the path. Every failure shows the same page. */
function linkGuard(dependencies: {
  links: Pick<OneTimeLinks, 'peek'>
  purpose: LinkPurpose
  failures: Failures
  logger: Logger
}): MiddlewareHandler<HttpEnv> {
  const { links, purpose, failures, logger } = dependencies
  return async (context, next) => {
    const token = context.req.param('token') ?? ''
    const link = await links.peek(token, purpose)
    if (link) {
      context.set('openedLink', { link, token })
      return next()
    }
    const address = peerAddress(context)
    countWrong(failures, address, 'links')
    logger.warn('an invalid link was used', { address, purpose })
    return noSuchLink()
  }
}

/** The checked link of the request. */
export function linkOf(context: HttpContext): OpenedLink {
  const opened = context.get('openedLink')
  if (!opened) throw new FamiliarError('internal', 'A link reached its handler without a check')
  return opened
}

/**
 * Browsers name the page of a request; other programs do not and need a token. `null` is the origin of a sandboxed
 * frame or a file, which any page can create: it only gets the page's own scripts and fonts, which are the same for all
 * users.
 */
function originGuard(allowedOrigins: readonly string[]): MiddlewareHandler<HttpEnv> {
  const allowed = new Set(allowedOrigins.map((origin) => new URL(origin).origin))
  return async (context, next) => {
    const origin = context.req.header('origin')?.toLowerCase()
    if (origin === undefined) return next()
    const host = context.req.header('host')?.toLowerCase()
    const isOwn = host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
    if (origin === 'null' && context.req.method === 'GET' && context.req.path.startsWith('/assets/')) return next()
    if (isOwn || allowed.has(origin)) return next()
    return errorReply('forbidden', 'Pages of other origins may not call this server. See allowed_origins in [http].')
  }
}

/** Refuses a caller with the returned reason. */
function callerGuard(refusal: (caller: Bearer | undefined) => string | undefined): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const reason = refusal(context.get('caller'))
    return reason === undefined ? next() : errorReply('forbidden', reason)
  }
}

/** `read` may look, `chat` may also send messages and stop its own turns, `owner` may do everything. */
const scopeGuard = (needed: TokenScope) =>
  callerGuard((caller) => {
    if (!caller || covers(caller.scope, needed)) return undefined
    return `This needs a token with the scope "${needed}"; this one has "${caller.scope}".`
  })

/** For routes that show or change the whole home (SEC-22): a scope only covers the caller's own data. */
const ownerGuard = callerGuard((caller) =>
  !caller || caller.isOwner ? undefined : 'This is only available to the owner of this home.',
)

/**
 * For routes that take a path or code (SEC-4): the caller has the credential that this start wrote into the home, which
 * only its owner can read. No access token is enough, whatever its scope.
 */
const localGuard = callerGuard((caller) =>
  caller?.tokenId === localTokenId ? undefined : 'This is only available to the command line of the machine itself.',
)

/** Headers that a proxy adds: its request may come from anywhere. */
const forwardingHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip']

/**
 * Whether a browser on this machine calls: both ends of the connection and the host name are its loopback, and no proxy
 * was in between. This only restricts a caller who is identified already.
 */
function isOnThisMachine(context: HttpContext): boolean {
  const address = peerAddress(context)?.replace(/^::ffff:/, '') ?? ''
  const isLoopback = address === '::1' || /^127(?:\.\d{1,3}){3}$/.test(address)
  const host = (context.req.header('host') ?? '').toLowerCase().replace(/:\d{1,5}$/, '')
  return isLoopback && ownNames.includes(host) && !forwardingHeaders.some((name) => context.req.header(name))
}

/** Whether the caller may connect models and change settings (SEC-4a). */
export function mayConfigure(context: HttpContext): boolean {
  const caller = context.get('caller')
  if (!caller?.isOwner) return false
  if (caller.tokenId === localTokenId) return true
  return caller.tokenId.startsWith(browserTokenPrefix) && isOnThisMachine(context)
}

/** The command line, or the owner's page in a browser on this machine. No access token is enough, whatever its scope. */
const localPageGuard: MiddlewareHandler<HttpEnv> = async (context, next) =>
  mayConfigure(context)
    ? next()
    : errorReply('forbidden', 'This is only available to the owner, in the page or a terminal on the machine itself.')

/**
 * Instead of a token: a signature over timestamp, nonce and body. It reads the body for that and passes the call on.
 * Every failure, including an unknown tool, has the same response.
 */
function signatureGuard(dependencies: {
  webhooks: Pick<Webhooks, 'isSigned'>
  failures: Failures
  logger: Logger
  maxBodyBytes: number
}): MiddlewareHandler<HttpEnv> {
  const { webhooks, failures, logger, maxBodyBytes } = dependencies
  return async (context, next) => {
    const { req } = context
    const call: WebhookCall = {
      tool: req.param('tool') ?? '',
      timestamp: req.header('x-familiar-timestamp'),
      nonce: req.header('x-familiar-nonce'),
      signature: req.header('x-familiar-signature'),
      body: await readBodyBytes(context, maxBodyBytes),
    }
    if (await webhooks.isSigned(call)) {
      context.set('signedCall', call)
      return next()
    }
    const address = peerAddress(context)
    countWrong(failures, address, 'signatures')
    logger.warn('a webhook had a wrong signature', { address, path: req.path })
    throw new FamiliarError('unauthorized', 'This signature is not valid.')
  }
}

/** The checked call of the request. */
export function signedCallOf(context: HttpContext): WebhookCall {
  const call = context.get('signedCall')
  if (!call) throw new FamiliarError('internal', 'A call reached its handler without a check')
  return call
}

/** A part of a path that may be the token of a link, which must not be logged. */
const tokenLike = /[\w-]{40,}/g

// 128 bits cannot be guessed, so wrong tokens of another program do not lock out the holder of such a token.
const unguessableBits = 128

/**
 * Identifies the caller. Only headers count: a token in a URL would end up in histories, logs and referrers. A browser
 * has two keys, a cookie and one that its page sends: another page cannot send both, and neither can another server
 * that receives the cookie.
 */
function tokenGuard(dependencies: {
  tokens: HttpDependencies['tokens']
  /** Undefined: no browser is signed in. */
  browsers: Pick<SignedInBrowsers, 'verify'> | undefined
  failures: Failures
  logger: Logger
  /** Whether a path is answered without a token too. */
  isOpen(path: string): boolean
}): MiddlewareHandler<HttpEnv> {
  const { tokens, browsers, failures, logger, isOpen } = dependencies

  async function login(context: HttpContext, token: string): Promise<Bearer> {
    const address = peerAddress(context)
    const admission = failures?.mayAuthenticate(address) ?? { ok: true }
    const isGuess = tokenBits(token) < unguessableBits
    const bearer = admission.ok || !isGuess ? await tokens.verify(token) : undefined
    if (bearer) return bearer
    if (!admission.ok) throw tooMany('Too many wrong tokens from this address.', admission.retryAfterSeconds)
    failures?.countFailure(address)
    logger.warn('a request had a wrong token', { address, path: context.req.path.replace(tokenLike, '…') })
    throw new FamiliarError('unauthorized', 'This token is not valid.')
  }

  return async (context, next) => {
    const header = context.req.header('authorization')
    if (header === undefined) {
      if (isOpen(context.req.path)) return next()
      throw new FamiliarError('unauthorized', missing)
    }
    const pageKey = /^page +([\w-]{1,100})$/i.exec(header)?.[1]
    if (pageKey !== undefined) {
      const caller = await browsers?.verify({ cookie: getCookie(context, pageCookie) ?? '', pageKey })
      if (!caller) throw new FamiliarError('unauthorized', 'This browser is not signed in.')
      context.set('caller', caller)
      return next()
    }
    const token = /^bearer +([\x21-\x7e]{1,1024})$/i.exec(header)?.[1]
    if (token === undefined) throw new FamiliarError('unauthorized', missing)
    context.set('caller', await login(context, token))
    return next()
  }
}

/** The caller that a guard has identified. */
export function callerOf(context: HttpContext): Bearer {
  const caller = context.get('caller')
  if (!caller) throw new FamiliarError('unauthorized', missing)
  return caller
}

const missing = 'This needs a token, in the header "Authorization: Bearer …".'
