import type { MiddlewareHandler } from 'hono'
import { localTokenId } from '../../../policy/access-tokens.ts'
import { errorReply } from '../error-reply.ts'
import type { HttpEnv } from '../http-dependencies.ts'

/**
 * For what names a path or brings code (SEC-4): the caller holds the credential that this start wrote into the home, where
 * only who may write there can read it. No token is that, whatever its scope.
 */
export function localGuard(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (context.get('caller')?.tokenId === localTokenId) return next()
    return errorReply('forbidden', 'This is for the command line of the machine itself.')
  }
}
