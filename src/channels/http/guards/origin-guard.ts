import type { MiddlewareHandler } from 'hono'
import { errorReply } from '../error-reply.ts'
import type { HttpEnv } from '../http-dependencies.ts'

/**
 * Browsers say which page a request comes from; programs say nothing and are let through to the token. `null` is what
 * a sandboxed frame or a file says, and any page can make one of those.
 */
export function originGuard(allowedOrigins: readonly string[]): MiddlewareHandler<HttpEnv> {
  const allowed = new Set(allowedOrigins.map((origin) => new URL(origin).origin))
  return async (context, next) => {
    const origin = context.req.header('origin')?.toLowerCase()
    if (origin === undefined) return next()
    const host = context.req.header('host')?.toLowerCase()
    const isOwn = host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
    if (isOwn || allowed.has(origin)) return next()
    return errorReply('forbidden', 'Pages of other origins may not call this server. See allowed_origins in [http].')
  }
}
