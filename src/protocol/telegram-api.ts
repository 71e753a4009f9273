import { z } from 'zod'

/** Who may speak on Telegram, and whether it is read (CHAN-1, SEC-5), for the owner of this home. */

export const telegramStatusReplySchema = z.object({
  state: z.enum(['off', 'starting', 'listening', 'waiting', 'conflict', 'refused']),
  bot: z.object({ id: z.int(), username: z.string() }).nullable(),
  /** What went wrong last; null while all is well. */
  problem: z.string().nullable(),
  last_update_at: z.iso.datetime().nullable(),
})
export type TelegramStatusReply = z.infer<typeof telegramStatusReplySchema>

const telegramContactSchema = z.object({
  id: z.int(),
  /** Of this home. */
  user: z.string(),
  /** As they called themselves when they paired. */
  name: z.string(),
  /** Null for one that the config names. */
  paired_at: z.iso.datetime().nullable(),
})

export const telegramContactsReplySchema = z.object({ contacts: z.array(telegramContactSchema) })
export type TelegramContactsReply = z.infer<typeof telegramContactsReplySchema>

/** For the owner unless another user is named. */
export const telegramCodeRequestSchema = z.strictObject({ user: z.string().min(1).max(100).optional() })
export type TelegramCodeRequest = z.infer<typeof telegramCodeRequestSchema>

/** The code is readable this once. */
export const telegramCodeReplySchema = z.object({
  code: z.string(),
  link: z.string().nullable(),
  user: z.string(),
  expires_at: z.iso.datetime(),
})
export type TelegramCodeReply = z.infer<typeof telegramCodeReplySchema>

export const telegramUnpairedReplySchema = z.object({ id: z.int() })
export type TelegramUnpairedReply = z.infer<typeof telegramUnpairedReplySchema>
