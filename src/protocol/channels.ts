import { z } from 'zod'
import { emptyRequestSchema } from './api.ts'
import type { Json } from './messages.ts'
import { operations, time, type Wire } from './operation.ts'

/** Speech. A recording is sent and received as raw bytes with its media type. */

const whoSchema = z.object({
  /** The engine; null if none is available. */
  by: z.string().nullable(),
  /** How to set one up, if none is available. */
  hint: z.string().nullable(),
})

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
  /** The length of the recording, if it was measured. */
  seconds: z.number().nullable(),
})
export type TranscriptionReply = Wire<typeof transcriptionReplySchema>

export const speechRequestSchema = z.strictObject({
  text: z.string().trim().min(1).max(5_000),
  voice: z.string().min(1).max(100).optional(),
})

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
export type ShownOutboxItemReply = Wire<typeof shownOutboxItemReplySchema>

export const outboxReplySchema = z.object({
  items: z.array(outboxItemReplySchema),
  /** Of all items of the user. */
  counts: z.record(outboxStateSchema, z.number()),
})
export type OutboxReply = Wire<typeof outboxReplySchema>

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
export type TelegramStatusReply = Wire<typeof telegramStatusReplySchema>

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
export type TelegramContactsReply = Wire<typeof telegramContactsReplySchema>

/** For the owner unless another user is named. */
export const telegramCodeRequestSchema = z.strictObject({ user: z.string().min(1).max(100).optional() })
export type TelegramCodeRequest = z.infer<typeof telegramCodeRequestSchema>

/** The code is shown only once. */
export const telegramCodeReplySchema = z.object({
  code: z.string(),
  link: z.string().nullable(),
  user: z.string(),
  expiresAt: time,
})
export type TelegramCodeReply = Wire<typeof telegramCodeReplySchema>

export const telegramUnpairedReplySchema = z.object({ id: z.int() })
export type TelegramUnpairedReply = Wire<typeof telegramUnpairedReplySchema>

export const voice = operations({
  status: {
    method: 'GET',
    path: '/api/v1/voice',
    summary: 'Show the engines for speech and transcription.',
    scope: 'read',
    reply: voiceReplySchema,
  },
  transcribe: {
    method: 'POST',
    path: '/api/v1/voice/transcribe',
    summary: 'Transcribe a recording.',
    scope: 'chat',
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
  },
  speak: {
    method: 'POST',
    path: '/api/v1/voice/speak',
    summary: 'Speak a text. The reply is the audio.',
    scope: 'chat',
    body: speechRequestSchema,
    mediaTypes: ['audio/wav', 'audio/mpeg'],
  },
})

export const outbox = operations({
  list: {
    method: 'GET',
    path: '/api/v1/outbox',
    summary: 'List outgoing messages, newest first, and the number in each state.',
    scope: 'read',
    query: outboxQuerySchema,
    reply: outboxReplySchema,
  },
  show: {
    method: 'GET',
    path: '/api/v1/outbox/:id',
    summary: 'Show an outgoing message with its whole content.',
    scope: 'read',
    reply: shownOutboxItemReplySchema,
  },
  retry: {
    method: 'POST',
    path: '/api/v1/outbox/:id/retry',
    summary: 'Send a failed, waiting or unknown message again now.',
    scope: 'chat',
    body: emptyRequestSchema,
    reply: outboxItemReplySchema,
  },
  cancel: {
    method: 'POST',
    path: '/api/v1/outbox/:id/cancel',
    summary: 'Cancel a waiting message.',
    scope: 'chat',
    body: emptyRequestSchema,
    reply: outboxItemReplySchema,
  },
})

export const telegram = operations({
  status: {
    method: 'GET',
    path: '/api/v1/local/telegram',
    summary: 'Show the state of Telegram.',
    scope: 'owner',
    isOwners: true,
    isLocal: true,
    reply: telegramStatusReplySchema,
  },
  contacts: {
    method: 'GET',
    path: '/api/v1/local/telegram/contacts',
    summary: 'List the Telegram contacts and their users.',
    scope: 'owner',
    isOwners: true,
    isLocal: true,
    reply: telegramContactsReplySchema,
  },
  makeCode: {
    method: 'POST',
    path: '/api/v1/local/telegram/codes',
    summary: 'Create a pairing code for Telegram. It is shown only once.',
    scope: 'owner',
    isOwners: true,
    isLocal: true,
    body: telegramCodeRequestSchema,
    reply: telegramCodeReplySchema,
    status: 201,
    showsSecret: true,
  },
  unpair: {
    method: 'DELETE',
    path: '/api/v1/local/telegram/contacts/:id',
    summary: 'Remove a Telegram contact.',
    scope: 'owner',
    isOwners: true,
    isLocal: true,
    reply: telegramUnpairedReplySchema,
  },
})
