import { isAbsolute } from 'node:path'
import { buildSecretRequestSchema } from '../../protocol/custom-tools.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { SignInReply } from '../../protocol/page.ts'
import * as pageApi from '../../protocol/page.ts'
import * as api from '../../protocol/users.ts'
import { browserTokenPrefix, type SignedIn } from '../../security/sign-in.ts'
import type { AccessTokens } from '../../security/tokens.ts'
import type { User, Users } from '../../security/users.ts'
import type { HttpContext, HttpDependencies, HttpUsers } from '../dependencies.ts'
import { callerOf, linkOf, mayConfigure, peerAddress, readLimitedText, tooMany } from '../guards.ts'
import { type HttpPage, pageCookie } from '../page.ts'
import { isoTime, jsonReply, orNotFound, quotedName } from '../replies.ts'
import { handle, type Route } from '../route.ts'
import { noSuchLink, type SecretLinks, secretForm, secretKept } from '../secret-links.ts'

/** The users of this home, for its owner. */
export function createUserRoutes({ users, removeUser }: HttpUsers): Route[] {
  const reply = (user: User) => ({ ...user, hasTier: users.hasPlan(user.tier) })
  return [
    ...[api.users.list, api.users.listHere].map((operation) =>
      handle(operation, () => ({ users: users.list().map(reply) })),
    ),
    handle(api.users.add, async ({ body }) => {
      const { user, made } = await users.add(body)
      return { user: reply(user), token: made.token }
    }),
    handle(api.users.rotate, async ({ params }) => {
      const { token } = await users.rotate(params.name)
      return { user: reply(users.named(params.name)), token }
    }),
    handle(api.users.setPlan, async ({ params, body }) => reply(await users.setPlan(params.name, body.tier))),
    handle(api.users.remove, async ({ params, body, signal }) => {
      if (!isAbsolute(body.directory)) throw new FamiliarError('bad_request', 'directory must be an absolute path')
      const removed = await removeUser({ name: params.name, directory: body.directory, signal })
      return { ...removed, user: reply(removed.user) }
    }),
  ]
}

/** Signing a browser in and out. */
export function createSignInRoutes({ limiter, status }: HttpDependencies, page: HttpPage): Route[] {
  const { browsers } = page

  async function signIn(context: HttpContext, code: string): Promise<SignedIn> {
    const address = peerAddress(context)
    const admission = limiter.mayAuthenticate(address)
    if (!admission.ok) throw tooMany('Too many wrong codes from this address.', admission.retryAfterSeconds)
    const signedIn = await browsers.signIn(code, context.req.header('user-agent') ?? '')
    if (signedIn) return signedIn
    limiter.countFailure(address)
    throw new FamiliarError('unauthorized', 'This link was used or has expired. Run "familiar sign-in" for a new one.')
  }

  return [
    handle(pageApi.signIn.signIn, async ({ body, context }) => {
      const { cookie, pageKey, userId, expiresAt } = await signIn(context, body.code)
      const reply: SignInReply = { name: page.userName(userId), page_key: pageKey }
      const expires = new Date(expiresAt).toUTCString()
      // Without Secure: a browser refuses it over plain HTTP, except on localhost.
      const value = `${pageCookie}=${cookie}; Path=/api; HttpOnly; SameSite=Strict; Expires=${expires}`
      return jsonReply(reply, { headers: { 'set-cookie': value } })
    }),
    handle(pageApi.signIn.signOut, async ({ body, context }) => {
      const { userId, tokenId } = callerOf(context)
      const own = tokenId.startsWith(browserTokenPrefix) ? tokenId.slice(browserTokenPrefix.length) : undefined
      const chosen = body.browser ?? own
      if (!body.everywhere && chosen === undefined)
        throw new FamiliarError(
          'bad_request',
          'This token does not belong to a browser. Set "everywhere" to sign out all browsers',
        )
      const ended = await browsers.signOut(userId, body.everywhere ? undefined : chosen)
      return { ended }
    }),
    handle(pageApi.signIn.browsers, async ({ context }) => {
      const { userId, tokenId } = callerOf(context)
      const listed = await browsers.list(userId)
      return {
        browsers: listed.map(({ id, name, createdAt, seenAt }) => ({
          id,
          name,
          createdAt: isoTime(createdAt),
          seenAt: isoTime(seenAt),
          isThis: tokenId === `${browserTokenPrefix}${id}`,
        })),
      }
    }),
    handle(pageApi.signIn.who, ({ context }) => {
      const { userId, isOwner, scope } = callerOf(context)
      return {
        name: page.userName(userId),
        isOwner,
        scope,
        agentName: page.agentName(),
        version: status().version,
        command: isOwner ? page.commandLine('WORDS') : 'familiar WORDS',
        mayConfigure: mayConfigure(context),
      }
    }),
    handle(pageApi.signIn.link, ({ userId, body }) =>
      page.signInLink(body.user === undefined ? userId : page.userNamed(body.user)),
    ),
  ]
}

// The longest secret, if every character has four bytes and each byte is written as `%XX`.
const maxFormBytes = 16_384 * 12 + 100

/** The form for a secret that a build asks for. The link in the path identifies the user. */
export function createSecretLinkRoutes(secretLinks: Pick<SecretLinks, 'asked' | 'give'>): Route[] {
  return [
    handle(pageApi.secretLinks.form, async ({ context }) => {
      const asked = await secretLinks.asked(linkOf(context).link)
      return asked ? secretForm(asked) : noSuchLink()
    }),
    handle(
      pageApi.secretLinks.give,
      async ({ context }) => {
        const { link, token } = linkOf(context)
        const form = new URLSearchParams(await readLimitedText(context, maxFormBytes))
        const asked = await secretLinks.asked(link)
        if (!asked) return noSuchLink()
        const value = (form.get('value') ?? '').trim()
        const given = buildSecretRequestSchema.safeParse({ value })
        if (!given.success)
          return secretForm(asked, value === '' ? 'Nothing was entered.' : 'This is too long for a secret.')
        return (await secretLinks.give(token, given.data.value)) ? secretKept() : noSuchLink()
      },
      { maxBytes: maxFormBytes },
    ),
  ]
}

type Tokens = Pick<AccessTokens, 'createToken' | 'list' | 'revoke'>
type ListedToken = Awaited<ReturnType<Tokens['list']>>[number]

/** Tokens of the users of this home. None is shown twice. */
export function createTokenRoutes(users: Pick<Users, 'list' | 'named' | 'isOwner'>, tokens: Tokens): Route[] {
  async function listed(of: readonly User[]) {
    const lists = await Promise.all(of.map(async (user) => (await tokens.list(user.id)).map(replyOf(user))))
    return lists.flat()
  }

  return [
    handle(api.tokens.list, async ({ query }) => ({
      tokens: await listed(query.user === undefined ? users.list() : [users.named(query.user)]),
    })),
    handle(api.tokens.create, async ({ body }) => {
      const owner = users.list().find(({ id }) => users.isOwner(id))
      const user = body.user === undefined ? orNotFound(owner, 'This home has no owner yet') : users.named(body.user)
      const { tokenId, token } = await tokens.createToken(user.id, body.scope)
      const made = (await tokens.list(user.id)).find((one) => one.tokenId === tokenId)
      if (!made) throw new FamiliarError('conflict', 'The token was revoked while it was being created')
      return { ...replyOf(user)(made), token }
    }),
    handle(api.tokens.revoke, async ({ params }) => {
      const { id } = params
      const found = (await listed(users.list())).find((one) => one.id === id)
      const known = orNotFound(found, `There is no token ${quotedName(id)}`)
      if (id.startsWith('environment-')) {
        throw new FamiliarError('conflict', 'This token comes from FAMILIAR_TOKEN. Change or remove it there.')
      }
      await tokens.revoke(id)
      return known
    }),
  ]
}

function replyOf({ name }: User) {
  return ({ tokenId, ...token }: ListedToken) => ({ ...token, id: tokenId, user: name })
}
