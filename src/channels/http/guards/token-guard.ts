import type { MiddlewareHandler } from 'hono'
import { getCookie } from 'hono/cookie'
import type { Logger } from '../../../base/logger.ts'
import type { Bearer } from '../../../policy/access-tokens.ts'
import type { Browsers } from '../../../policy/browsers.ts'
import type { RateLimiter } from '../../../policy/rate-limiter.ts'
import { tokenBits } from '../../../policy/token-strength.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { HttpContext, HttpDependencies, HttpEnv } from '../http-dependencies.ts'
import { pageCookie } from '../page/page-cookie.ts'
import { loggedPath } from './logged-path.ts'
import { peerAddress, tooMany } from './rate-limit-guard.ts'

// Nobody guesses 128 bits, so whoever holds such a token is not locked out by another program's wrong ones.
const unguessableBits = 128

/**
 * Who calls. Only headers count: a token in a URL would end up in histories, logs and referrers. A browser has two keys, a cookie
 * and one that its page sends: another page can have neither sent in this way, nor can another server that is sent the cookie.
 */
export function tokenGuard(dependencies: {
  tokens: HttpDependencies['tokens']
  /** Undefined: no browser is signed in. */
  browsers: Pick<Browsers, 'verify'> | undefined
  /** Undefined: wrong tokens are not counted. */
  failures: Pick<RateLimiter, 'mayAuthenticate' | 'countFailure'> | undefined
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
    logger.warn('a request came with a wrong token', { address, path: loggedPath(context.req.path) })
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

/** For handlers that work for one user: none runs without one, whatever stands before it. */
export function callerOf(context: HttpContext): Bearer {
  const caller = context.get('caller')
  if (!caller) throw new FamiliarError('unauthorized', missing)
  return caller
}

const missing = 'This needs a token, in the header "Authorization: Bearer …".'
