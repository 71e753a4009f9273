import { isAbsolute } from 'node:path'
import type { User, Users } from '../../../policy/users/users.ts'
import { emptyRequestSchema } from '../../../protocol/api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import {
  type UserRemovedReply,
  type UserReply,
  type UsersReply,
  type UserTokenReply,
  userAddRequestSchema,
  userRemovedReplySchema,
  userRemoveRequestSchema,
  userReplySchema,
  usersReplySchema,
  userTierRequestSchema,
  userTokenReplySchema,
} from '../../../protocol/user-api.ts'
import type { HttpContext, HttpUsers } from '../http-dependencies.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

const base = '/api/v1/local/users'
/** Whoever holds a token could make more of them: these answer this machine's own command line alone, as tokens do. */
const ownerAtHome = { auth: 'token', scope: 'owner', isOwners: true, isLocal: true } as const

/** The users of this home, for its owner. */
export function createUserRoutes({ users, removeUser }: HttpUsers): Route[] {
  const reply = (user: User) => userReply(users, user)
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/users',
      summary: 'The users of this home and their tiers, to be looked at.',
      auth: 'token',
      scope: 'read',
      isOwners: true,
      reply: { status: 200, schema: usersReplySchema },
      handle: () => jsonReply({ users: users.list().map(reply) } satisfies UsersReply),
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'GET',
      path: base,
      summary: 'The users of this home and their tiers.',
      reply: { status: 200, schema: usersReplySchema },
      handle: () => jsonReply({ users: users.list().map(reply) } satisfies UsersReply),
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'POST',
      path: base,
      summary: 'Add a user. The token is shown this once.',
      body: userAddRequestSchema,
      reply: { status: 201, schema: userTokenReplySchema, showsSecret: true },
      async handle({ body }) {
        const { user, made } = await users.add(body)
        return jsonReply({ user: reply(user), token: made.token } satisfies UserTokenReply, { status: 201 })
      },
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'POST',
      path: `${base}/:name/rotate`,
      summary: 'Make a new token in place of all that a user has. Shown this once.',
      body: emptyRequestSchema,
      reply: { status: 200, schema: userTokenReplySchema, showsSecret: true },
      async handle({ context }) {
        const { token } = await users.rotate(nameOf(context))
        return jsonReply({ user: reply(users.named(nameOf(context))), token } satisfies UserTokenReply)
      },
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'PUT',
      path: `${base}/:name/tier`,
      summary: 'Give a user another tier, from their next call on.',
      body: userTierRequestSchema,
      reply: { status: 200, schema: userReplySchema },
      handle: async ({ context, body }) => jsonReply(reply(await users.setTier(nameOf(context), body.tier))),
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'POST',
      path: `${base}/:name/remove`,
      summary: 'Export all that a user has into a folder, and then remove the user and all of it.',
      body: userRemoveRequestSchema,
      reply: { status: 200, schema: userRemovedReplySchema },
      async handle({ context, body }) {
        if (!isAbsolute(body.directory)) throw new FamiliarError('bad_request', 'directory must be an absolute path')
        const removed = await removeUser({
          name: nameOf(context),
          directory: body.directory,
          signal: context.req.raw.signal,
        })
        return jsonReply({ ...removed, user: reply(removed.user) } satisfies UserRemovedReply)
      },
    }),
  ]
}

function userReply(users: Users, { id, name, role, tier, createdAt }: User): UserReply {
  return { id, name, role, tier, has_tier: users.hasTier(tier), created_at: isoTime(createdAt) }
}

function nameOf(context: HttpContext): string {
  return context.req.param('name') ?? ''
}
