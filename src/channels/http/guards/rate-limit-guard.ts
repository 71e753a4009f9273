import type { MiddlewareHandler } from 'hono'
import type { RateLimiter } from '../../../policy/rate-limiter.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { HttpContext, HttpEnv } from '../http-dependencies.ts'

/** No address is exempt, loopback least of all: every page in the user's browser calls from there. */
export function rateLimitGuard(limiter: RateLimiter): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const admission = limiter.admit(peerAddress(context))
    if (admission.ok) return next()
    throw tooMany('Too many requests from this address.', admission.retryAfterSeconds)
  }
}

export function tooMany(message: string, retryAfterSeconds: number): FamiliarError {
  return new FamiliarError('rate_limited', message, { retryAfterSeconds })
}

/** Where the connection comes from. Headers that claim another address are not read: anyone can send them. */
export function peerAddress(context: HttpContext): string | undefined {
  return context.env?.incoming?.socket.remoteAddress
}
