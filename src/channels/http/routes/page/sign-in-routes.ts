import { browserTokenPrefix, type SignedIn } from '../../../../policy/browsers.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type BrowsersReply,
  browsersReplySchema,
  type SignInLinkReply,
  type SignInReply,
  type SignOutReply,
  signInLinkReplySchema,
  signInLinkRequestSchema,
  signInReplySchema,
  signInRequestSchema,
  signOutReplySchema,
  signOutRequestSchema,
  type WhoReply,
  whoReplySchema,
} from '../../../../protocol/page-api.ts'
import { peerAddress, tooMany } from '../../guards/rate-limit-guard.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext, HttpDependencies } from '../../http-dependencies.ts'
import { isoTime } from '../../iso-time.ts'
import { jsonReply } from '../../json-reply.ts'
import type { HttpPage } from '../../page/http-page.ts'
import { pageCookie } from '../../page/page-cookie.ts'
import { defineRoute, type Route } from '../../route.ts'

/** How a browser becomes one of the user's, and ceases to be. */
export function createSignInRoutes({ limiter, status }: HttpDependencies, page: HttpPage): Route[] {
  const { browsers } = page

  async function signIn(context: HttpContext, code: string): Promise<SignedIn> {
    const address = peerAddress(context)
    const admission = limiter.mayAuthenticate(address)
    if (!admission.ok) throw tooMany('Too many wrong codes from this address.', admission.retryAfterSeconds)
    const signedIn = await browsers.signIn(code, context.req.header('user-agent') ?? '')
    if (signedIn) return signedIn
    limiter.countFailure(address)
    throw new FamiliarError('unauthorized', 'This link was used, or is too old. "familiar sign-in" makes a new one.')
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/sign-in',
      summary:
        'Sign a browser in with the code of a link of one use. Its cookie and the key in the answer count together.',
      auth: 'optional',
      scope: 'read',
      body: signInRequestSchema,
      reply: { status: 200, schema: signInReplySchema, showsSecret: true },
      async handle({ context, body }) {
        const { cookie, pageKey, userId, expiresAt } = await signIn(context, body.code)
        const reply: SignInReply = { name: page.userName(userId), page_key: pageKey }
        const expires = new Date(expiresAt).toUTCString()
        // Also sent by a page that the daemon serves behind HTTPS; a browser refuses Secure over plain HTTP but on localhost.
        const value = `${pageCookie}=${cookie}; Path=/api; HttpOnly; SameSite=Strict; Expires=${expires}`
        return jsonReply(reply, { headers: { 'set-cookie': value } })
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sign-out',
      summary: 'Sign this browser out, or all of the user’s.',
      auth: 'token',
      scope: 'chat',
      body: signOutRequestSchema,
      reply: { status: 200, schema: signOutReplySchema },
      async handle({ context, body }) {
        const { userId, tokenId } = callerOf(context)
        const own = tokenId.startsWith(browserTokenPrefix) ? tokenId.slice(browserTokenPrefix.length) : undefined
        const chosen = body.browser ?? own
        if (!body.everywhere && chosen === undefined)
          throw new FamiliarError('bad_request', 'This is no browser; "everywhere" signs all of them out')
        const ended = await browsers.signOut(userId, body.everywhere ? undefined : chosen)
        return jsonReply({ ended } satisfies SignOutReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/browsers',
      summary: 'The browsers that are signed in.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: browsersReplySchema },
      async handle({ context }) {
        const { userId, tokenId } = callerOf(context)
        const reply: BrowsersReply = {
          browsers: (await browsers.list(userId)).map(({ id, name, createdAt, seenAt }) => ({
            id,
            name,
            created_at: isoTime(createdAt),
            seen_at: isoTime(seenAt),
            is_this: tokenId === `${browserTokenPrefix}${id}`,
          })),
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/who',
      summary: 'Whose token this is, and what it may do.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: whoReplySchema },
      handle({ context }) {
        const { userId, isOwner, scope } = callerOf(context)
        const reply: WhoReply = {
          name: page.userName(userId),
          is_owner: isOwner,
          scope,
          agent_name: page.agentName(),
          version: status().version,
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/local/sign-in-link',
      summary: 'Make a link of one use that signs a browser in: the owner’s, or that of another user.',
      auth: 'token',
      scope: 'owner',
      isOwners: true,
      isLocal: true,
      body: signInLinkRequestSchema,
      reply: { status: 201, schema: signInLinkReplySchema, showsSecret: true },
      async handle({ context, body }) {
        const userId = body.user === undefined ? callerOf(context).userId : page.userNamed(body.user)
        const link = await page.signInLink(userId)
        return jsonReply(link satisfies SignInLinkReply, { status: 201 })
      },
    }),
  ]
}
