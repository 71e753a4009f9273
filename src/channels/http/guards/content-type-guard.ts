import type { MiddlewareHandler } from 'hono'
import { errorReply } from '../error-reply.ts'
import type { HttpContext, HttpEnv } from '../http-dependencies.ts'

const jsonTypes = ['application/json']
const charset = /\s*;\s*charset=utf-8\s*$/i

/** A form of a foreign page can post text, but never as JSON (or as any other of our types) without asking first. */
export function contentTypeGuard(mediaTypes: readonly string[] = jsonTypes): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const given = (context.req.header('content-type') ?? '').replace(charset, '').trim().toLowerCase()
    if (!hasBody(context) || mediaTypes.includes(given)) return next()
    const what = mediaTypes === jsonTypes ? 'A body must be JSON' : 'The body must be of another type'
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
