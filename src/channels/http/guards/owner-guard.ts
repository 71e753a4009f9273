import type { MiddlewareHandler } from 'hono'
import { errorReply } from '../error-reply.ts'
import type { HttpEnv } from '../http-dependencies.ts'

/** For what shows or changes the home of everybody (SEC-22): a scope says what may be done with what is one's own. */
export function ownerGuard(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const caller = context.get('caller')
    if (!caller || caller.isOwner) return next()
    return errorReply('forbidden', 'This is for the owner of this home.')
  }
}
