import { z } from 'zod'

/** Builds of capabilities over the wire (CAP-7). */

const common = { build_id: z.string(), seq: z.number(), at: z.string() }

/** `seq` is the cursor: a reader that has seen it asks for what comes after it. */
export const buildEventSchema = z.discriminatedUnion('type', [
  z.object({ ...common, type: z.literal('progress'), message: z.string() }),
  z.object({
    ...common,
    type: z.literal('question'),
    question_id: z.string(),
    question: z.string(),
    expires_at: z.string(),
  }),
  z.object({
    ...common,
    type: z.literal('secret_request'),
    question_id: z.string(),
    /** The name that it is kept under. */
    secret: z.string(),
    question: z.string(),
    expires_at: z.string(),
  }),
  /** Of a question: the words. Of a secret: only that it was given. Neither, where the time was up. */
  z.object({
    ...common,
    type: z.literal('answer'),
    question_id: z.string(),
    answer: z.string().nullable(),
    is_expired: z.boolean(),
  }),
  z.object({
    ...common,
    type: z.literal('complete'),
    name: z.string(),
    version: z.number(),
    message: z.string(),
  }),
  z.object({ ...common, type: z.literal('error'), message: z.string() }),
])
export type BuildEvent = z.infer<typeof buildEventSchema>

export const buildReplySchema = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(['build', 'repair']),
  state: z.enum(['running', 'complete', 'failed', 'stopped']),
  description: z.string(),
  session_id: z.string().nullable(),
  error: z.string().nullable(),
  created_at: z.string(),
  ended_at: z.string().nullable(),
})
export type BuildReply = z.infer<typeof buildReplySchema>

export const buildsReplySchema = z.object({ builds: z.array(buildReplySchema) })
export type BuildsReply = z.infer<typeof buildsReplySchema>

export const buildQuestionReplySchema = z.object({
  id: z.string(),
  build_id: z.string(),
  name: z.string(),
  kind: z.enum(['question', 'secret']),
  question: z.string(),
  secret: z.string().nullable(),
  /** The Builder had words of others in sight when it asked. */
  is_untrusted: z.boolean(),
  asked_at: z.string(),
  expires_at: z.string(),
})
export type BuildQuestionReply = z.infer<typeof buildQuestionReplySchema>

export const buildQuestionsReplySchema = z.object({ questions: z.array(buildQuestionReplySchema) })
export type BuildQuestionsReply = z.infer<typeof buildQuestionsReplySchema>

export const buildAnswerRequestSchema = z.strictObject({ answer: z.string().min(1).max(10_000) })
export const buildSecretRequestSchema = z.strictObject({ value: z.string().min(1).max(16_384) })

export const buildsQuerySchema = z.strictObject({
  name: z.string().min(1).max(200).optional(),
  state: z.enum(['running', 'complete', 'failed', 'stopped']).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(50),
})

/** A cursor: the number of the last event that was seen. The header `Last-Event-ID` wins. */
const cursorSchema = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
export const buildEventsQuerySchema = z.strictObject({ after: cursorSchema.optional() })
export const builderStatusQuerySchema = z.strictObject({ buildId: z.string().min(1).max(200) })

export const buildEventsReplySchema = z.object({ events: z.array(buildEventSchema) })
export type BuildEventsReply = z.infer<typeof buildEventsReplySchema>

export const buildStopReplySchema = z.object({ stopped: z.boolean() })
export type BuildStopReply = z.infer<typeof buildStopReplySchema>

export const buildAnsweredReplySchema = z.object({ ok: z.literal(true) })
export type BuildAnsweredReply = z.infer<typeof buildAnsweredReplySchema>
