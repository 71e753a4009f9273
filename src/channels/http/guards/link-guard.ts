import type { MiddlewareHandler } from 'hono'
import type { Logger } from '../../../base/logger.ts'
import type { LinkPurpose, OneTimeLinks } from '../../../policy/one-time-links.ts'
import type { RateLimiter } from '../../../policy/rate-limiter.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { HttpContext, HttpEnv } from '../http-dependencies.ts'
import type { OpenedLink } from '../opened-link.ts'
import { noSuchLink } from '../secret-links/secret-page.ts'
import { peerAddress, tooMany } from './rate-limit-guard.ts'

/** In place of an access token: a link of one use in the path. Whatever is wrong with it, the answer is the same page. */
export function linkGuard(dependencies: {
  links: Pick<OneTimeLinks, 'peek'>
  purpose: LinkPurpose
  /** Undefined: wrong links are not counted. */
  failures: Pick<RateLimiter, 'mayAuthenticate' | 'countFailure'> | undefined
  logger: Logger
}): MiddlewareHandler<HttpEnv> {
  const { links, purpose, failures, logger } = dependencies
  return async (context, next) => {
    const token = context.req.param('token') ?? ''
    const link = await links.peek(token, purpose)
    if (link) {
      context.set('openedLink', { link, token })
      return next()
    }
    // Counted like wrong tokens. Nobody guesses a right one, so it passes however many were wrong.
    const address = peerAddress(context)
    const admission = failures?.mayAuthenticate(address) ?? { ok: true }
    if (!admission.ok) throw tooMany('Too many wrong links from this address.', admission.retryAfterSeconds)
    failures?.countFailure(address)
    logger.warn('a link came that does not hold', { address, purpose })
    return noSuchLink()
  }
}

/** For handlers behind a link: none runs without one, whatever stands before it. */
export function linkOf(context: HttpContext): OpenedLink {
  const opened = context.get('openedLink')
  if (!opened) throw new FamiliarError('internal', 'A link that nobody checked reached its handler')
  return opened
}
