import { z } from 'zod'

/** Speech over the HTTP API. A recording comes as it is, with its own type, and goes so. */

const whoSchema = z.object({
  /** Null where nobody can. */
  by: z.string().nullable(),
  /** What to do about it, where nobody can. */
  hint: z.string().nullable(),
})

export const voiceReplySchema = z.object({
  speech: whoSchema.extend({
    /** Those that can be chosen by name, where they are known here. */
    voices: z.array(z.string()),
  }),
  transcription: whoSchema,
})
export type VoiceReply = z.infer<typeof voiceReplySchema>

export const transcriptionReplySchema = z.object({
  /** Empty where nobody speaks. */
  text: z.string(),
  by: z.string(),
  /** How long the recording is, where that was measured. */
  seconds: z.number().nullable(),
})
export type TranscriptionReply = z.infer<typeof transcriptionReplySchema>

export const speechRequestSchema = z.strictObject({
  text: z.string().trim().min(1).max(5_000),
  voice: z.string().min(1).max(100).optional(),
})
