import type { MiddlewareHandler } from 'hono'
import { FamiliarError } from '../../../protocol/error.ts'
import type { HttpContext, HttpEnv } from '../http-dependencies.ts'

/** Refuses what says that it is too large, before a byte of it is read. */
export function bodySizeGuard(maxBytes: number): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    if (Number(context.req.header('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
    return next()
  }
}

/** The body as text. A body that does not say how long it is is counted while it comes. */
export async function readLimitedText(context: HttpContext, maxBytes: number): Promise<string> {
  if (context.req.header('content-length') !== undefined) return context.req.raw.text()
  return Buffer.concat(await Array.fromAsync(limitedBody(context, maxBytes))).toString('utf8')
}

/** The body as it comes, and no more of it than is allowed. */
export async function* limitedBody(context: HttpContext, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of context.req.raw.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

function tooLarge(maxBytes: number): FamiliarError {
  return new FamiliarError('payload_too_large', `The body is larger than ${maxBytes.toLocaleString('en')} bytes.`)
}
