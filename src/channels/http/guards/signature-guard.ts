import type { MiddlewareHandler } from 'hono'
import type { Logger } from '../../../base/logger.ts'
import type { RateLimiter } from '../../../policy/rate-limiter.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { HttpContext, HttpEnv } from '../http-dependencies.ts'
import type { WebhookCall, Webhooks } from '../webhook-call.ts'
import { limitedBody } from './body-size-guard.ts'
import { peerAddress, tooMany } from './rate-limit-guard.ts'

/**
 * In place of a token: a signature over timestamp, nonce and body. It reads the body for that, and hands the whole call
 * on. Whatever is wrong with it, and also where there is no such tool, the answer is the same.
 */
export function signatureGuard(dependencies: {
  webhooks: Pick<Webhooks, 'isSigned'>
  /** Undefined: wrong signatures are not counted. */
  failures: Pick<RateLimiter, 'mayAuthenticate' | 'countFailure'> | undefined
  logger: Logger
  maxBodyBytes: number
}): MiddlewareHandler<HttpEnv> {
  const { webhooks, failures, logger, maxBodyBytes } = dependencies
  return async (context, next) => {
    const call = await readCall(context, maxBodyBytes)
    if (await webhooks.isSigned(call)) {
      context.set('signedCall', call)
      return next()
    }
    // Counted like wrong tokens. Nobody guesses a right one, so it passes however many were wrong.
    const address = peerAddress(context)
    const admission = failures?.mayAuthenticate(address) ?? { ok: true }
    if (!admission.ok) throw tooMany('Too many wrong signatures from this address.', admission.retryAfterSeconds)
    failures?.countFailure(address)
    logger.warn('a webhook came with a wrong signature', { address, path: context.req.path })
    throw new FamiliarError('unauthorized', 'This signature is not valid.')
  }
}

/** For handlers of signed calls: none runs without one, whatever stands before it. */
export function signedCallOf(context: HttpContext): WebhookCall {
  const call = context.get('signedCall')
  if (!call) throw new FamiliarError('internal', 'A call that nobody checked reached its handler')
  return call
}

async function readCall(context: HttpContext, maxBodyBytes: number): Promise<WebhookCall> {
  const body = Buffer.concat(await Array.fromAsync(limitedBody(context, maxBodyBytes)))
  return {
    tool: context.req.param('tool') ?? '',
    timestamp: context.req.header('x-familiar-timestamp'),
    nonce: context.req.header('x-familiar-nonce'),
    signature: context.req.header('x-familiar-signature'),
    body,
  }
}
