import type { MiddlewareHandler } from 'hono'
import type { TokenScope } from '../../../policy/access-tokens.ts'
import { errorReply } from '../error-reply.ts'
import type { HttpEnv } from '../http-dependencies.ts'

const rank: Record<TokenScope, number> = { read: 0, chat: 1, owner: 2 }

/** `read` may look, `chat` may also speak and stop what it began, `owner` may do everything. */
export function scopeGuard(needed: TokenScope): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const caller = context.get('caller')
    if (!caller || rank[caller.scope] >= rank[needed]) return next()
    return errorReply('forbidden', `This needs a token with the scope "${needed}"; this one has "${caller.scope}".`)
  }
}
