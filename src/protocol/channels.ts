import { z } from 'zod'
import type { Json } from './messages.ts'
import { operation, ownerOnMachine, time, type Wire } from './operation.ts'

/** Speech. A recording is sent and received as raw bytes with its media type. */

const whoSchema = z.object({
  /** The engine; null if none is available. */
  by: z.string().nullable(),
  /** How to set one up, if none is available. */
  hint: z.string().nullable(),
})

const languageTag = z.string().regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, 'must be a language such as "de"')

export const voiceReplySchema = z.object({
  speech: whoSchema.extend({
    /** The voices that can be chosen by name, if they are known. */
    voices: z.array(z.string()),
  }),
  transcription: whoSchema,
})
export type VoiceReply = Wire<typeof voiceReplySchema>

export const transcriptionReplySchema = z.object({
  /** Empty if the recording has no speech. */
  text: z.string(),
  by: z.string(),
  /** The code of the language that was spoken, if it was detected. */
  language: z.string().nullable(),
  /** The length of the recording, if it was measured. */
  seconds: z.number().nullable(),
})

export const speechRequestSchema = z.strictObject({
  text: z.string().trim().min(1).max(5_000),
  voice: z.string().min(1).max(100).optional(),
  /** The language of the conversation, for texts that are too short to show theirs. */
  language: languageTag.optional(),
})

export const transcriptionQuerySchema = z.strictObject({
  /** The expected language. A clearly different one is recognized too. */
  language: languageTag.optional(),
})

export const warmReplySchema = z.object({ speech: z.boolean(), transcription: z.boolean() })

/** Outgoing messages. */

const outboxStateSchema = z.enum(['pending', 'sending', 'sent', 'unknown', 'failed', 'cancelled'])

const itemFields = {
  id: z.string(),
  channel: z.string(),
  address: z.string(),
  /** `unknown`: it may have arrived. */
  state: outboxStateSchema,
  attempts: z.number(),
  /** The time of the next attempt; null if there is none. */
  nextAt: time.nullable(),
  error: z.string().nullable(),
  /** Its id in the other service. */
  externalId: z.string().nullable(),
  sessionId: z.string().nullable(),
  /** The item of unknown outcome that this one repeats. */
  repeats: z.string().nullable(),
  /** The beginning of its text. */
  preview: z.string(),
  createdAt: time,
  updatedAt: time,
}

export const outboxItemReplySchema = z.object(itemFields)
export type OutboxItemReply = Wire<typeof outboxItemReplySchema>

export const shownOutboxItemReplySchema = z.object({ ...itemFields, payload: z.custom<Json>() })

export const outboxReplySchema = z.object({
  items: z.array(outboxItemReplySchema),
  /** The counts of all items of the user. */
  counts: z.record(outboxStateSchema, z.number()),
})

export const outboxQuerySchema = z.strictObject({
  state: outboxStateSchema.optional(),
  channel: z.string().max(40).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(50),
})

/** Telegram, for the owner of this home (CHAN-1, SEC-5). */

export const telegramStatusReplySchema = z.object({
  state: z.enum(['off', 'starting', 'listening', 'waiting', 'conflict', 'refused']),
  bot: z.object({ id: z.int(), username: z.string() }).nullable(),
  /** The last error; null while Telegram works. */
  problem: z.string().nullable(),
  lastUpdateAt: time.nullable(),
})

const telegramContactSchema = z.object({
  id: z.int(),
  /** The user of this home. */
  user: z.string(),
  /** The Telegram name at the time of pairing. */
  name: z.string(),
  /** Null for a contact in the config. */
  pairedAt: time.nullable(),
})

export const telegramContactsReplySchema = z.object({ contacts: z.array(telegramContactSchema) })

/** For the owner unless another user is named. */
export const telegramCodeRequestSchema = z.strictObject({ user: z.string().min(1).max(100).optional() })

/** The code is shown only once. */
export const telegramCodeReplySchema = z.object({
  code: z.string(),
  link: z.string().nullable(),
  user: z.string(),
  expiresAt: time,
})

export const telegramUnpairedReplySchema = z.object({ id: z.int() })

export const voice = {
  status: operation('GET /api/v1/voice', 'Get the engines for speech and transcription.', {
    scope: 'read',
    reply: voiceReplySchema,
  }),
  transcribe: operation('POST /api/v1/voice/transcribe', 'Transcribe a recording.', {
    scope: 'chat',
    query: transcriptionQuerySchema,
    rawBody: {
      // Only types that an HTML form of another site cannot send.
      mediaTypes: [
        'audio/wav',
        'audio/x-wav',
        'audio/ogg',
        'audio/opus',
        'audio/mpeg',
        'audio/mp4',
        'audio/x-m4a',
        'audio/webm',
        'audio/flac',
      ],
    },
    reply: transcriptionReplySchema,
  }),
  warm: operation('POST /api/v1/voice/warm', 'Load the local voice models before their first use.', {
    scope: 'chat',
    reply: warmReplySchema,
  }),
  speak: operation('POST /api/v1/voice/speak', 'Convert text to speech. Returns the audio.', {
    scope: 'chat',
    body: speechRequestSchema,
    mediaTypes: ['audio/wav', 'audio/mpeg'],
  }),
}

export const outbox = {
  list: operation('GET /api/v1/outbox', 'List outgoing messages, newest first, with the number in each state.', {
    scope: 'read',
    query: outboxQuerySchema,
    reply: outboxReplySchema,
  }),
  show: operation('GET /api/v1/outbox/:id', 'Get an outgoing message with its full content.', {
    scope: 'read',
    reply: shownOutboxItemReplySchema,
  }),
  retry: operation(
    'POST /api/v1/outbox/:id/retry',
    'Send a message again now, if it failed, is waiting, or its outcome is unknown.',
    { scope: 'chat', reply: outboxItemReplySchema },
  ),
  cancel: operation('POST /api/v1/outbox/:id/cancel', 'Cancel a waiting message.', {
    scope: 'chat',
    reply: outboxItemReplySchema,
  }),
}

export const telegram = {
  status: operation('GET /api/v1/local/telegram', 'Get the state of the Telegram connection.', {
    ...ownerOnMachine,
    reply: telegramStatusReplySchema,
  }),
  contacts: operation('GET /api/v1/local/telegram/contacts', 'List Telegram contacts and their users.', {
    ...ownerOnMachine,
    reply: telegramContactsReplySchema,
  }),
  makeCode: operation(
    'POST /api/v1/local/telegram/codes',
    'Create a pairing code for Telegram. The code is shown once.',
    {
      ...ownerOnMachine,
      body: telegramCodeRequestSchema,
      reply: telegramCodeReplySchema,
      status: 201,
      showsSecret: true,
    },
  ),
  unpair: operation('DELETE /api/v1/local/telegram/contacts/:id', 'Remove a Telegram contact.', {
    ...ownerOnMachine,
    reply: telegramUnpairedReplySchema,
  }),
}
