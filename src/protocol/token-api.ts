import { z } from 'zod'

/** The tokens of this home, for its owner at the machine itself. */

export const tokenScopeSchema = z.enum(['owner', 'chat', 'read'])

export const tokenReplySchema = z.object({
  id: z.string(),
  user: z.string(),
  scope: tokenScopeSchema,
  created_at: z.iso.datetime(),
})
export type TokenReply = z.infer<typeof tokenReplySchema>

export const tokensReplySchema = z.object({ tokens: z.array(tokenReplySchema) })
export type TokensReply = z.infer<typeof tokensReplySchema>

export const tokensQuerySchema = z.strictObject({ user: z.string().min(1).max(100).optional() })

export const tokenCreateRequestSchema = z.strictObject({
  /** The owner, where nothing is said. */
  user: z.string().min(1).max(100).optional(),
  scope: tokenScopeSchema.default('chat'),
})
export type TokenCreateRequest = z.input<typeof tokenCreateRequestSchema>

/** The token is readable this once. */
export const madeTokenReplySchema = tokenReplySchema.extend({ token: z.string() })
export type MadeTokenReply = z.infer<typeof madeTokenReplySchema>
