import { z } from 'zod'
import { turnOutcomeReplySchema, usageReplySchema } from './api.ts'

/** What a turn did and when, and what was sent to a model before. */

export const traceQuerySchema = z.strictObject({
  /** Absent: the newest of the session. */
  turn: z.string().max(100).optional(),
})

const traceSpanSchema = z.object({
  /** Its place in the log, where it ended or, if it has not, where it began. */
  seq: z.number().int(),
  /** `note`: a moment, without a length. */
  kind: z.enum(['model', 'tool', 'wait', 'note']),
  name: z.string(),
  /** What it was called with, why it waited, what went wrong. */
  detail: z.string(),
  started_at: z.iso.datetime(),
  /** Null while it goes on. */
  ended_at: z.iso.datetime().nullable(),
  is_error: z.boolean(),
  usage: usageReplySchema.nullable(),
  /** Null without a price, and for what is no call of a model. */
  cost_usd: z.number().nullable(),
})
export type TraceSpan = z.infer<typeof traceSpanSchema>

const otherCallSchema = z.object({
  at: z.iso.datetime(),
  session_id: z.string().nullable(),
  purpose: z.string(),
  model: z.string(),
  state: z.enum(['reserved', 'settled', 'interrupted', 'failed']),
  usage: usageReplySchema,
  cost_usd: z.number().nullable(),
})

export const traceReplySchema = z.object({
  session_id: z.string(),
  /** Null before the first turn; then there is nothing else either. */
  turn_id: z.string().nullable(),
  started_at: z.iso.datetime().nullable(),
  /** Null while it runs. */
  ended_at: z.iso.datetime().nullable(),
  outcome: turnOutcomeReplySchema.nullable(),
  /** The beginning of what was said to it. */
  message: z.string(),
  spans: z.array(traceSpanSchema),
  /** Calls that count to this turn and are no steps of it: sub-agents, summaries, what was broken off. */
  other_calls: z.array(otherCallSchema),
})
export type TraceReply = z.infer<typeof traceReplySchema>

export const requestsQuerySchema = z.strictObject({
  /** Only those before this place of the log. Absent: the newest. */
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(30),
})

export const requestsReplySchema = z.object({
  /** Newest first. */
  requests: z.array(
    z.object({
      seq: z.number().int(),
      /** When the answer had come. */
      at: z.iso.datetime(),
      turn_id: z.string().nullable(),
      model: z.string(),
      usage: usageReplySchema,
      cost_usd: z.number().nullable(),
    }),
  ),
  /** What `before` shows earlier ones; null where there are none. */
  before: z.number().int().nullable(),
})
export type RequestsReply = z.infer<typeof requestsReplySchema>
