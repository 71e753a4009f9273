import { z } from 'zod'

/** What the Bot API calls a message, as far as it is read here; the rest is left out. */

const id = z.int()
const text = z.string()
const bytes = z.number().nonnegative().optional()

/** What is there and cannot be read is left out: the rest of the message still counts. */
const lenient = <T>(schema: z.ZodType<T>) => schema.optional().catch(undefined)

const fileFields = { file_id: text, file_size: bytes }
const namedFileSchema = z.object({ ...fileFields, file_name: text.optional(), mime_type: text.optional() })
const soundSchema = z.object({ ...fileFields, mime_type: text.optional(), duration: z.number().optional() })
const photoSchema = z.object({ ...fileFields, width: z.number(), height: z.number() })
const placeSchema = z.object({ latitude: z.number(), longitude: z.number() })

const personSchema = z.object({
  id,
  is_bot: z.boolean().optional(),
  first_name: text.optional(),
  last_name: text.optional(),
})

const chatSchema = z.object({ id, type: text })

export const telegramMessageSchema = z.object({
  message_id: id,
  date: z.number(),
  edit_date: lenient(z.number()),
  chat: chatSchema,
  from: lenient(personSchema),
  media_group_id: lenient(text),
  text: lenient(text),
  caption: lenient(text),
  forward_origin: z.unknown().optional(),
  /** Of servers before version 7.0 of the Bot API. */
  forward_date: z.unknown().optional(),
  external_reply: z.unknown().optional(),
  quote: lenient(z.object({ text })),
  reply_to_message: lenient(z.object({ message_id: id })),
  via_bot: z.unknown().optional(),
  photo: lenient(z.array(photoSchema)),
  document: lenient(namedFileSchema),
  video: lenient(namedFileSchema),
  animation: lenient(namedFileSchema),
  audio: lenient(z.object({ ...namedFileSchema.shape, ...soundSchema.shape })),
  voice: lenient(soundSchema),
  video_note: lenient(soundSchema),
  sticker: lenient(z.object({ emoji: text.optional() })),
  location: lenient(placeSchema),
  venue: lenient(z.object({ location: placeSchema, title: text, address: text })),
  contact: lenient(z.object({ phone_number: text, first_name: text, last_name: text.optional() })),
  dice: lenient(z.object({ emoji: text, value: z.number() })),
  poll: z.unknown().optional(),
  story: z.unknown().optional(),
})
export type TelegramMessage = z.infer<typeof telegramMessageSchema>

export const buttonPressSchema = z.object({
  id: text,
  from: personSchema,
  data: text.optional(),
  /** Absent for what is too old to be shown. */
  message: z.object({ message_id: id, chat: chatSchema }).optional(),
})
export type ButtonPress = z.infer<typeof buttonPressSchema>

export const membershipSchema = z.object({
  chat: chatSchema,
  new_chat_member: z.object({ status: text }),
})

/** An update, sorted by what is to be done about it. */
export type TelegramUpdate = { updateId: number } & (
  | { kind: 'message'; message: TelegramMessage; isEdit: boolean }
  | { kind: 'button'; press: ButtonPress }
  | { kind: 'membership'; chat: z.infer<typeof chatSchema>; status: string }
  /** Of a kind that was not asked for, or that cannot be read. */
  | { kind: 'other' }
)
