import type { MiddlewareHandler } from 'hono'
import type { HttpEnv } from '../http-dependencies.ts'
import { hasBody } from './content-type-guard.ts'
import { tooMany } from './rate-limit-guard.ts'

/**
 * Each body may be as large as its route allows, and is held whole until it is read: this bounds what all of them take
 * together. One that does not say how long it is counts as the longest. Where nothing else is held, one always is.
 */
export function createBodyLoadGuard(mostBytes: number): (maxBytes: number) => MiddlewareHandler<HttpEnv> {
  let held = 0
  return (maxBytes) => async (context, next) => {
    if (!hasBody(context)) return next()
    const bytes = Number(context.req.header('content-length') ?? maxBytes)
    if (held > 0 && held + bytes > mostBytes) throw tooMany('Too much is being sent at once.', 1)
    held += bytes
    let isHeld = true
    const release = () => {
      if (isHeld) held -= bytes
      isHeld = false
    }
    // An answer can take minutes to come: what it is the answer to was read long before.
    context.set('onBodyRead', release)
    try {
      return await next()
    } finally {
      release()
    }
  }
}
