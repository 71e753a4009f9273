import { z } from 'zod'
import { buttonPressSchema, membershipSchema, type TelegramUpdate, telegramMessageSchema } from './telegram-update.ts'

const updateSchema = z.object({
  update_id: z.int(),
  message: z.unknown().optional(),
  edited_message: z.unknown().optional(),
  callback_query: z.unknown().optional(),
  my_chat_member: z.unknown().optional(),
})

/**
 * One element of what `getUpdates` gave. Undefined only for what has no number: everything else has one, so that what
 * cannot be read is passed over and does not come again for ever.
 */
export function readUpdate(raw: unknown): TelegramUpdate | undefined {
  const update = updateSchema.safeParse(raw)
  if (!update.success) return undefined
  const { update_id: updateId, message, edited_message, callback_query, my_chat_member } = update.data
  if (message !== undefined || edited_message !== undefined) {
    const read = telegramMessageSchema.safeParse(message ?? edited_message)
    if (read.success) return { updateId, kind: 'message', message: read.data, isEdit: message === undefined }
  }
  if (callback_query !== undefined) {
    const read = buttonPressSchema.safeParse(callback_query)
    if (read.success) return { updateId, kind: 'button', press: read.data }
  }
  if (my_chat_member !== undefined) {
    const read = membershipSchema.safeParse(my_chat_member)
    if (read.success) {
      return { updateId, kind: 'membership', chat: read.data.chat, status: read.data.new_chat_member.status }
    }
  }
  return { updateId, kind: 'other' }
}
