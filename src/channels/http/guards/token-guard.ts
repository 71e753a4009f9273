import type { MiddlewareHandler } from 'hono'
import type { Logger } from '../../../base/logger.ts'
import type { Bearer } from '../../../policy/access-tokens.ts'
import type { RateLimiter } from '../../../policy/rate-limiter.ts'
import { tokenBits } from '../../../policy/token-strength.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { HttpContext, HttpDependencies, HttpEnv } from '../http-dependencies.ts'
import { peerAddress, tooMany } from './rate-limit-guard.ts'

// Nobody guesses 128 bits, so whoever holds such a token is not locked out by another program's wrong ones.
const unguessableBits = 128

/** Who calls. Only the header counts: a token in a URL would end up in histories, logs and referrers. */
export function tokenGuard(dependencies: {
  tokens: HttpDependencies['tokens']
  /** Undefined: wrong tokens are not counted. */
  failures: Pick<RateLimiter, 'mayAuthenticate' | 'countFailure'> | undefined
  logger: Logger
  /** Whether a path is answered without a token too. */
  isOpen(path: string): boolean
}): MiddlewareHandler<HttpEnv> {
  const { tokens, failures, logger, isOpen } = dependencies

  async function login(context: HttpContext, token: string): Promise<Bearer> {
    const address = peerAddress(context)
    const admission = failures?.mayAuthenticate(address) ?? { ok: true }
    const isGuess = tokenBits(token) < unguessableBits
    const bearer = admission.ok || !isGuess ? await tokens.verify(token) : undefined
    if (bearer) return bearer
    if (!admission.ok) throw tooMany('Too many wrong tokens from this address.', admission.retryAfterSeconds)
    failures?.countFailure(address)
    logger.warn('a request came with a wrong token', { address, path: context.req.path })
    throw new FamiliarError('unauthorized', 'This token is not valid.')
  }

  return async (context, next) => {
    const header = context.req.header('authorization')
    if (header === undefined) {
      if (isOpen(context.req.path)) return next()
      throw new FamiliarError('unauthorized', missing)
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
