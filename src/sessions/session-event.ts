import { z } from 'zod'
import { parseAnyJson } from '../base/json.ts'
import { cardSchema } from '../protocol/card.ts'
import { labelSchema } from '../protocol/label.ts'
import { assistantPartSchema, mediaPartSchema, stopReasonSchema, usageSchema } from '../protocol/message.ts'
import { toolDefinitionSchema } from '../protocol/tool.ts'

export const turnOutcomeSchema = z.enum([
  'completed',
  'question',
  'stopped',
  'round_limit',
  'repeated_failure',
  'budget',
  'failed',
])

/**
 * What is written down of a session, in order, once and for good. Everything a model was sent or said can be rebuilt
 * from these; nothing else is the truth.
 */
export const sessionEventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message_received'),
    messageId: z.string(),
    text: z.string(),
    /** What the model reads in place of it: with the files and blocks that it names. Never the user's own words. */
    expanded: z.string().optional(),
    media: z.array(mediaPartSchema),
    sender: z.string(),
    source: z.string(),
    tier: z.string(),
    metadata: z.record(z.string(), z.json()),
    /** Absent: the owner's own words. */
    label: labelSchema.optional(),
  }),
  z.object({
    type: z.literal('turn_started'),
    messageIds: z.array(z.string()),
    source: z.string(),
    tier: z.string(),
    model: z.string(),
    /** The dynamic part of the prompt; it stays with its message, so that the prefix never changes. */
    context: z.string(),
    recalled: z.array(z.object({ id: z.string(), text: z.string() })),
    /** Of all that the context holds: untrusted where one memory in it is. */
    label: labelSchema.optional(),
    /** The prompt holds what the user wrote of themself. */
    isPrivate: z.literal(true).optional(),
    /** What the client of this turn can do itself. */
    clientTools: z.array(toolDefinitionSchema).optional(),
  }),
  z.object({
    type: z.literal('model_responded'),
    model: z.string(),
    parts: z.array(assistantPartSchema),
    stopReason: stopReasonSchema,
    usage: usageSchema,
    costNanousd: z.number().int().nullable(),
  }),
  z.object({
    type: z.literal('model_failed'),
    model: z.string(),
    attempt: z.number().int(),
    reason: z.string(),
    waitMs: z.number(),
  }),
  z.object({
    type: z.literal('tool_started'),
    callId: z.string(),
    name: z.string(),
    input: z.json(),
    effect: z.enum(['idempotent', 'at-most-once', 'at-least-once']),
    /** The client makes it. */
    isClients: z.literal(true).optional(),
  }),
  z.object({
    type: z.literal('tool_finished'),
    callId: z.string(),
    name: z.string(),
    text: z.string(),
    isError: z.boolean(),
    question: z.string().optional(),
    foundTools: z.array(z.string()).optional(),
    label: labelSchema.optional(),
    isPrivate: z.literal(true).optional(),
    card: cardSchema.optional(),
    media: z.array(mediaPartSchema).optional(),
    says: z.string().optional(),
    reaction: z.string().optional(),
    isEphemeral: z.literal(true).optional(),
    /** The call waits for the user's word, which must name this. */
    approvalId: z.string().optional(),
  }),
  z.object({ type: z.literal('model_notified'), about: z.enum(['rounds', 'failures']), text: z.string() }),
  z.object({ type: z.literal('stop_requested') }),
  z.object({
    type: z.literal('turn_ended'),
    outcome: turnOutcomeSchema,
    /** What the user is told. */
    text: z.string(),
    question: z.string().nullable(),
    toolCalls: z.array(z.object({ name: z.string(), input: z.json(), isError: z.boolean() })),
    deliver: z.boolean(),
    /** Who was at fault, with the outcome `failed`. */
    failure: z.enum(['provider', 'timeout', 'internal']).optional(),
    /** `untrusted`: by then words of others had been in sight, and what the model said may come from them. */
    label: labelSchema.optional(),
  }),
  z.object({ type: z.literal('context_warned'), inputTokens: z.number(), thresholdTokens: z.number() }),
  z.object({
    type: z.literal('compacted'),
    /** Everything up to this event is now told by the summary. */
    throughSeq: z.number().int(),
    summary: z.string(),
    messages: z.number().int(),
    beforeTokens: z.number(),
    label: labelSchema.optional(),
  }),
  z.object({ type: z.literal('marked'), name: z.string() }),
  z.object({ type: z.literal('rewound'), toSeq: z.number().int() }),
  z.object({ type: z.literal('forked'), fromSessionId: z.string(), fromSeq: z.number().int() }),
  z.object({ type: z.literal('reset') }),
])

export type SessionEvent = z.infer<typeof sessionEventSchema>

/** An event in its place. */
export type LoggedEvent = SessionEvent & { seq: number; turnId: string | null; at: number }

interface EventRow {
  seq: number
  turn_id: string | null
  at: number
  type: string
  data: string
}

/** A row back to its event; undefined for one that is damaged or of a kind this version does not know. */
export function eventFromRow(row: EventRow): LoggedEvent | undefined {
  const data = parseAnyJson(row.data)
  if (!data.ok || typeof data.value !== 'object' || data.value === null || Array.isArray(data.value)) return undefined
  const event = sessionEventSchema.safeParse({ ...data.value, type: row.type })
  if (!event.success) return undefined
  return { ...event.data, seq: Number(row.seq), turnId: row.turn_id, at: Number(row.at) }
}
