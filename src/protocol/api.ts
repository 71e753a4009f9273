import { z } from 'zod'
import { cardSchema } from './card.ts'
import { clientToolsSchema } from './client-tool.ts'
import { isShallow } from './is-shallow.ts'
import type { Json } from './json.ts'

/**
 * Every body, query and answer of the HTTP API. Requests are strict: a key that does nothing is a mistake of the caller.
 * Times are ISO 8601, names are snake_case; the events of a stream are `TurnEvent` as they are.
 */

const maxMetadataDepth = 16

/** Unchecked on purpose: whatever JSON.parse gave is JSON already. */
const json = z.custom<Json>()

const slug = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9_-]*$/, 'must be a name of small letters, digits, - and _')

const label = z.string().trim().min(1).max(200).refine(isPlainLabel, 'must not hold control characters')

/** Who a session is with. `all` is what a reset calls every one of them. */
const contact = label.refine((name) => name !== 'all', '"all" cannot be the name of a contact')

const metadata = z
  .record(z.string(), z.custom<Json>())
  .refine((value) => isShallow(value, maxMetadataDepth), `must not be nested deeper than ${maxMetadataDepth} levels`)

const attachmentSchema = z.strictObject({
  name: label.refine((name) => !/[/\\]/.test(name), 'must be a name without a path'),
  media_type: z
    .string()
    .max(100)
    .regex(/^[A-Za-z0-9.+_-]+\/[A-Za-z0-9.+_-]+$/, 'must be a media type such as image/png'),
  /** Base64. */
  data: z.string(),
})
export type Attachment = z.infer<typeof attachmentSchema>

const messageFields = {
  /** The name of a contact, or the id of a session. */
  session: contact.default('main'),
  channel: slug.default('http'),
  /** Absent: the user whose token it is. */
  sender: label.optional(),
  source: slug.default('http'),
  tier: z.enum(['full', 'operational']).optional(),
  /** The caller's own id of this message, the same as the header `Idempotency-Key`: twice the same makes one turn. */
  key: label.optional(),
  attachments: z.array(attachmentSchema).max(10).default([]),
  metadata: metadata.default({}),
  /** Somebody else wrote the text: it is data, and nobody's word for anything. */
  untrusted: z.boolean().optional(),
  /** What the client can do itself in this turn; it is asked to with `tool_calls`. */
  client_tools: clientToolsSchema.default([]),
}

export const messageRequestSchema = z.strictObject({ message: z.string(), ...messageFields })
export type MessageRequest = z.infer<typeof messageRequestSchema>
/** As a caller writes it: what has a default may be left out. */
export type MessageRequestInput = z.input<typeof messageRequestSchema>

const pastMessageSchema = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string().optional() }))]),
})

/** `POST /api/chat`: one message, or the whole list, of which the last one of the user is taken. */
export const plainChatRequestSchema = z.strictObject({
  message: z.string().optional(),
  messages: z.array(pastMessageSchema).max(1000).optional(),
  ...messageFields,
})
export type PlainChatRequest = z.infer<typeof plainChatRequestSchema>

export const chatQuerySchema = z.strictObject({
  /** Answers 408 when the turn takes longer; the turn goes on. */
  timeout_seconds: z.coerce.number().positive().max(86_400).optional(),
})

export const usageReplySchema = z.object({
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  cache_read_tokens: z.number().int(),
  cache_write_tokens: z.number().int(),
})

export const turnOutcomeReplySchema = z.enum([
  'completed',
  'question',
  'stopped',
  'round_limit',
  'repeated_failure',
  'budget',
  'failed',
])

export const chatReplySchema = z.object({
  reply: z.string(),
  session_id: z.string(),
  turn_id: z.string(),
  outcome: turnOutcomeReplySchema,
  pending_question: z.string().nullable(),
  /** False where the reply is a silent token: stored, not to be shown. */
  deliver: z.boolean(),
  tool_calls: z.array(z.object({ name: z.string(), input: json, is_error: z.boolean() })),
  /** What its tools showed: `html` for a frame that runs and loads nothing, `text` for everywhere else. */
  cards: z.array(cardSchema),
  model: z.string(),
  rounds: z.number().int(),
  usage: usageReplySchema,
  /** Null where a model without a price took part. */
  cost_usd: z.number().nullable(),
  /** What came to mind when the turn began. */
  memories: z.array(z.object({ id: z.string(), text: z.string() })),
  /** True where the turn has not ended and waits for the client to make calls. */
  meta: z.object({ has_tool_calls: z.literal(false) }),
})
export type ChatReply = z.infer<typeof chatReplySchema>

export const notifyReplySchema = z.object({
  message_id: z.string(),
  session_id: z.string(),
  duplicate: z.boolean(),
})
export type NotifyReply = z.infer<typeof notifyReplySchema>

export const errorReplySchema = z.object({
  error: z.string(),
  code: z.string(),
  /** With an error that is not the caller's: what to look for in the log. */
  request_id: z.string().optional(),
  session_id: z.string().optional(),
  message_id: z.string().optional(),
  turn_id: z.string().optional(),
})
export type ErrorReply = z.infer<typeof errorReplySchema>

export const healthReplySchema = z.object({
  ok: z.boolean(),
  name: z.string(),
  version: z.string(),
  uptime_seconds: z.number(),
})

export const statusReplySchema = healthReplySchema.extend({
  /** Only with a token. */
  stats: z
    .object({
      model: z.string(),
      sessions: z.number().int(),
      turns_running: z.number().int(),
      messages_waiting: z.number().int(),
      cost_today_usd: z.number(),
      calls_today: z.number().int(),
      unpriced_calls_today: z.number().int(),
    })
    .optional(),
})
export type StatusReply = z.infer<typeof statusReplySchema>

export const sessionReplySchema = z.object({
  id: z.string(),
  channel: z.string(),
  contact: z.string(),
  state: z.enum(['active', 'archived']),
  /** How many events its log holds. */
  events: z.number().int(),
  last_input_tokens: z.number().int(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})
export type SessionReply = z.infer<typeof sessionReplySchema>

const flag = z.enum(['true', 'false']).default('false')

export const sessionsQuerySchema = z.strictObject({ archived: flag })
export const sessionsReplySchema = z.object({ sessions: z.array(sessionReplySchema) })
export type SessionsReply = z.infer<typeof sessionsReplySchema>

/** `all`, a contact, or the id of a session. */
export const resetRequestSchema = z.strictObject({ target: label })
export type ResetRequest = z.infer<typeof resetRequestSchema>
export const resetReplySchema = z.object({ archived: z.array(sessionReplySchema) })
export type ResetReply = z.infer<typeof resetReplySchema>

export const historyQuerySchema = z.strictObject({
  /** `true`: every event, with tool calls; otherwise what was said. */
  full: flag,
  after: z.coerce.number().int().nonnegative().default(0),
  limit: z.coerce.number().int().min(1).max(1000).default(500),
})

export const historyEventSchema = z.object({
  seq: z.number().int(),
  at: z.iso.datetime(),
  turn_id: z.string().nullable(),
  type: z.string(),
  role: z.enum(['user', 'assistant']).nullable(),
  text: z.string().nullable(),
  /** The event as it is written in the log; only with `full`. */
  data: z.record(z.string(), json).optional(),
})
export type HistoryEvent = z.infer<typeof historyEventSchema>

export const historyReplySchema = z.object({
  session_id: z.string(),
  events: z.array(historyEventSchema),
  /** Where the next page begins; null on the last. */
  next_after: z.number().int().nullable(),
})
export type HistoryReply = z.infer<typeof historyReplySchema>

export const eventsQuerySchema = z.strictObject({
  /** A cursor, the same as the header `Last-Event-ID`, which wins. Absent: from the beginning. */
  after: z.string().max(64).optional(),
})

export const stopReplySchema = z.object({ stopped: z.boolean() })
export type StopReply = z.infer<typeof stopReplySchema>

export const markRequestSchema = z.strictObject({ name: label })
export type MarkRequest = z.infer<typeof markRequestSchema>
export const markReplySchema = z.object({ session_id: z.string(), name: z.string() })
export type MarkReply = z.infer<typeof markReplySchema>

export const rewindRequestSchema = z
  .strictObject({ mark: label.optional(), turns: z.number().int().min(1).max(1_000_000).optional() })
  .refine((to) => (to.mark === undefined) !== (to.turns === undefined), 'needs either "mark" or "turns"')
export type RewindRequest = z.infer<typeof rewindRequestSchema>
export const rewindReplySchema = z.object({ session_id: z.string() })
export type RewindReply = z.infer<typeof rewindReplySchema>

export const forkRequestSchema = z.strictObject({ contact })
export type ForkRequest = z.infer<typeof forkRequestSchema>

export const compactReplySchema = z.object({ compacted: z.boolean() })
export type CompactReply = z.infer<typeof compactReplySchema>

export const contextReplySchema = z.object({
  tokenizer: z.string(),
  /** What the provider counted for the newest request; null before the first. */
  last_request_tokens: z.number().int().nullable(),
  threshold_tokens: z.number().int(),
  blocks: z.array(z.object({ name: z.string(), tier: z.string(), tokens: z.number().int(), cached: z.boolean() })),
})
export type ContextReply = z.infer<typeof contextReplySchema>

export const costPeriodSchema = z.enum(['today', 'week', 'month', 'all'])
export const costQuerySchema = z.strictObject({ period: costPeriodSchema.default('today') })

export const costReplySchema = z.object({
  period: costPeriodSchema,
  total_usd: z.number(),
  calls: z.number().int(),
  /** Calls of models without a price: their cost is unknown, not zero. */
  unpriced_calls: z.number().int(),
  by_model: z.array(
    z.object({
      model: z.string(),
      calls: z.number().int(),
      ...usageReplySchema.shape,
      cost_usd: z.number().nullable(),
    }),
  ),
})
export type CostReply = z.infer<typeof costReplySchema>

export const monitorReplySchema = z.object({
  state: z.enum(['idle', 'thinking', 'tools', 'retry_wait']),
  updated_at: z.iso.datetime(),
  turns: z.array(
    z.object({
      session_id: z.string(),
      /** `subagent` and `builder`: nobody speaks there, it works for a conversation. */
      channel: z.string(),
      contact: z.string(),
      turn_id: z.string(),
      state: z.enum(['thinking', 'tools', 'retry_wait']),
      model: z.string(),
      round: z.number().int(),
      tools: z.array(z.string()),
      input_tokens: z.number().int(),
      output_tokens: z.number().int(),
      started_at: z.iso.datetime(),
      updated_at: z.iso.datetime(),
    }),
  ),
})
export type MonitorReply = z.infer<typeof monitorReplySchema>

export const emptyRequestSchema = z.strictObject({})

function isPlainLabel(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text)
}
