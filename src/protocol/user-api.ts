import { z } from 'zod'

/** The users of this home and their tiers (USERS-1), for its owner. */

const name = z.string().min(1).max(100)

export const userReplySchema = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(['owner', 'user']),
  tier: z.string(),
  /** False where the config no longer names the tier: until then the user may do nothing. */
  has_tier: z.boolean(),
  created_at: z.iso.datetime(),
})
export type UserReply = z.infer<typeof userReplySchema>

export const usersReplySchema = z.object({ users: z.array(userReplySchema) })
export type UsersReply = z.infer<typeof usersReplySchema>

export const userAddRequestSchema = z.strictObject({
  name,
  tier: name.optional(),
  scope: z.enum(['owner', 'chat', 'read']).optional(),
})
export type UserAddRequest = z.infer<typeof userAddRequestSchema>

/** The token is readable this once. */
export const userTokenReplySchema = z.object({ user: userReplySchema, token: z.string() })
export type UserTokenReply = z.infer<typeof userTokenReplySchema>

export const userTierRequestSchema = z.strictObject({ tier: name })

/** Where what they had is written before it goes: an absolute path of a folder that is new or empty. */
export const userRemoveRequestSchema = z.strictObject({ directory: z.string().min(1).max(4096) })

export const userRemovedReplySchema = z.object({
  user: userReplySchema,
  directory: z.string(),
  files: z.array(z.string()),
})
export type UserRemovedReply = z.infer<typeof userRemovedReplySchema>
