import { z } from 'zod'
import type { Outgoing } from '../../outbox/outbox.ts'

export const telegramChannel = 'telegram'

const entitySchema = z.object({
  type: z.enum(['bold', 'italic', 'strikethrough', 'code', 'pre', 'text_link', 'blockquote']),
  offset: z.int().nonnegative(),
  length: z.int().positive(),
  language: z.string().exactOptional(),
  url: z.string().exactOptional(),
})

const buttonSchema = z.object({ text: z.string(), data: z.string() })

/** How often this was said before without its being known whether it arrived. */
const repetition = z.int().nonnegative().default(0)

const textFields = {
  text: z.string().min(1),
  entities: z.array(entitySchema).default([]),
  /** After this time nobody needs it: a question that is over. */
  notAfter: z.int().nullable().default(null),
  repetition,
}

/** What lies in the outbox for Telegram. A version that reads it may be newer than the one that wrote it. */
export const telegramPayloadSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('text'),
    ...textFields,
    /** In rows. */
    buttons: z.array(z.array(buttonSchema)).default([]),
    /** The reader is led to a reply to exactly this. */
    wantsReply: z.boolean().default(false),
  }),
  z.object({
    kind: z.literal('file'),
    as: z.enum(['photo', 'voice', 'audio', 'document']),
    hash: z.string(),
    name: z.string(),
    mediaType: z.string(),
    repetition,
  }),
  /** On a message of theirs. */
  z.object({ kind: z.literal('reaction'), messageId: z.int(), emoji: z.string() }),
  /** A secret is asked for: the link is made when it is sent, and lies nowhere. */
  z.object({ kind: z.literal('secret'), ...textFields, questionId: z.string() }),
])

export type TelegramPayload = z.infer<typeof telegramPayloadSchema>
/** As it is made: what has a usual value may be left out. */
export type TelegramPayloadInput = z.input<typeof telegramPayloadSchema>

interface TelegramMessageItem {
  userId: string
  chatId: string
  /** The same one is said once. */
  key: string
  payload: TelegramPayloadInput
  sessionId: string | null
}

export function toOutgoing({ userId, chatId, key, payload, sessionId }: TelegramMessageItem): Outgoing {
  const written = telegramPayloadSchema.parse(payload)
  return { userId, channel: telegramChannel, address: chatId, key, payload: written, sessionId }
}
