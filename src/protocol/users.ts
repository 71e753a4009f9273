import { z } from 'zod'
import { operation, ownerOnMachine, ownerReads, time, type Wire } from './operation.ts'

/** The users of this home and their plans (USERS-1), for its owner. */

const name = z.string().min(1).max(100)

export const userReplySchema = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(['owner', 'user']),
  tier: z.string(),
  /** False if the config does not define the plan: the user may do nothing until it does. */
  hasTier: z.boolean(),
  createdAt: time,
})
export type UserReply = Wire<typeof userReplySchema>

export const usersReplySchema = z.object({ users: z.array(userReplySchema) })

export const userAddRequestSchema = z.strictObject({
  name,
  tier: name.optional(),
  scope: z.enum(['owner', 'chat', 'read']).optional(),
})
export type UserAddRequest = Wire<typeof userAddRequestSchema>

/** The token is shown only here. */
export const userTokenReplySchema = z.object({ user: userReplySchema, token: z.string() })
export type UserTokenReply = Wire<typeof userTokenReplySchema>

export const userPlanRequestSchema = z.strictObject({ tier: name })

/** The absolute path of a new or empty folder, to which the user's data is exported first. */
export const userRemoveRequestSchema = z.strictObject({ directory: z.string().min(1).max(4096) })

export const userRemovedReplySchema = z.object({
  user: userReplySchema,
  directory: z.string(),
  files: z.array(z.string()),
})

/** The tokens of this home, for its owner on this machine. */

export const tokenScopeSchema = z.enum(['owner', 'chat', 'read'])

export const tokenReplySchema = z.object({
  id: z.string(),
  user: z.string(),
  scope: tokenScopeSchema,
  createdAt: time,
})

export const tokensReplySchema = z.object({ tokens: z.array(tokenReplySchema) })

export const tokensQuerySchema = z.strictObject({ user: z.string().min(1).max(100).optional() })

export const tokenCreateRequestSchema = z.strictObject({
  /** Default: the owner. */
  user: z.string().min(1).max(100).optional(),
  scope: tokenScopeSchema.default('chat'),
})
export type TokenCreateRequest = Wire<typeof tokenCreateRequestSchema>

/** The token is shown only here. */
export const madeTokenReplySchema = tokenReplySchema.extend({ token: z.string() })
export type MadeTokenReply = Wire<typeof madeTokenReplySchema>

export const users = {
  list: operation('GET /api/v1/users', 'List users and their plans.', {
    ...ownerReads,
    reply: usersReplySchema,
  }),
  listHere: operation('GET /api/v1/local/users', 'List users and their plans.', {
    ...ownerOnMachine,
    reply: usersReplySchema,
  }),
  add: operation('POST /api/v1/local/users', 'Create a user. The token is shown once.', {
    ...ownerOnMachine,
    body: userAddRequestSchema,
    reply: userTokenReplySchema,
    status: 201,
    showsSecret: true,
  }),
  rotate: operation(
    'POST /api/v1/local/users/:name/rotate',
    'Replace all tokens of a user with a new one, which is shown once.',
    { ...ownerOnMachine, reply: userTokenReplySchema, showsSecret: true },
  ),
  setPlan: operation(
    'PUT /api/v1/local/users/:name/tier',
    'Change the plan of a user. It applies from the next call.',
    { ...ownerOnMachine, body: userPlanRequestSchema, reply: userReplySchema },
  ),
  remove: operation(
    'POST /api/v1/local/users/:name/remove',
    'Export the data of a user to a folder, then delete the user and the data.',
    { ...ownerOnMachine, body: userRemoveRequestSchema, reply: userRemovedReplySchema },
  ),
}

export const tokens = {
  list: operation('GET /api/v1/local/tokens', 'List valid tokens by id. The tokens themselves are not shown.', {
    ...ownerOnMachine,
    query: tokensQuerySchema,
    reply: tokensReplySchema,
  }),
  create: operation('POST /api/v1/local/tokens', 'Create a token for a user. It is shown once.', {
    ...ownerOnMachine,
    body: tokenCreateRequestSchema,
    reply: madeTokenReplySchema,
    status: 201,
    showsSecret: true,
  }),
  revoke: operation('POST /api/v1/local/tokens/:id/revoke', 'Revoke a token.', {
    ...ownerOnMachine,
    reply: tokenReplySchema,
  }),
}
