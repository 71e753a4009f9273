import type { MiddlewareHandler } from 'hono'
import { errorReply } from '../error-reply.ts'
import type { HttpContext, HttpEnv } from '../http-dependencies.ts'

const jsonType = /^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i

/** A form of a foreign page can post text, but never as JSON without asking first. */
export function contentTypeGuard(): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (!hasBody(context) || jsonType.test(context.req.header('content-type') ?? '')) return next()
    return errorReply(
      'unsupported_media_type',
      'A body must be JSON, with the header "Content-Type: application/json".',
    )
  }
}

export function hasBody(context: HttpContext): boolean {
  const length = context.req.header('content-length')
  return (length !== undefined && length !== '0') || context.req.header('transfer-encoding') !== undefined
}
