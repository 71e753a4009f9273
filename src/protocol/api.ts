import { z } from 'zod'
import { openChoicesSchema } from './choices.ts'
import { cardSchema, clientToolsSchema, isShallow, type Json, usageSchema } from './messages.ts'
import { emptySchema, operation, time, type Wire } from './operation.ts'

/** Messages, sessions, status and costs. Requests are strict: an unknown key is an error. */

const maxMetadataDepth = 16

/** Not validated: the output of JSON.parse is JSON. */
const json = z.custom<Json>()

const slug = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9_-]*$/, 'must be a name of lowercase letters, digits, - and _')

const label = z.string().trim().min(1).max(200).refine(isPlainLabel, 'must not contain control characters')

/** The name of a session. In a reset, `all` means every session. */
const contact = label.refine((name) => name !== 'all', '"all" cannot be the name of a contact')

const metadata = z
  .record(z.string(), z.custom<Json>())
  .refine((value) => isShallow(value, maxMetadataDepth), `must not be nested deeper than ${maxMetadataDepth} levels`)

const attachmentSchema = z.strictObject({
  name: label.refine((name) => !/[/\\]/.test(name), 'must be a name without a path'),
  mediaType: z
    .string()
    .max(100)
    .regex(/^[A-Za-z0-9.+_-]+\/[A-Za-z0-9.+_-]+$/, 'must be a media type such as image/png'),
  /** Base64. */
  data: z.string(),
})
export type Attachment = Wire<typeof attachmentSchema>

const messageFields = {
  /** The name of a contact, or the id of a session. */
  session: contact.default('main'),
  channel: slug.default('http'),
  /** Default: the user of the token. */
  sender: label.optional(),
  source: slug.default('http'),
  tier: z.enum(['full', 'operational']).optional(),
  /** The same as the header `Idempotency-Key`. A repeated key starts no second turn. */
  key: label.optional(),
  attachments: z.array(attachmentSchema).max(10).default([]),
  metadata: metadata.default({}),
  /** The message is untrusted: data, never an instruction or an approval. */
  untrusted: z.boolean().optional(),
  /**
   * The `id` of an open question whose option the message chooses: a button was pressed. Returns 409 if the question is
   * no longer open.
   */
  answers: z.string().min(1).max(100).optional(),
  /** Tools of the client for this turn. Their calls arrive as `tool_calls`. */
  clientTools: clientToolsSchema.default([]),
}

export const messageRequestSchema = z.strictObject({ message: z.string(), ...messageFields })
export type MessageRequest = z.infer<typeof messageRequestSchema>
export type MessageRequestInput = Wire<typeof messageRequestSchema>

export const postRequestSchema = z.strictObject({
  ...messageRequestSchema.shape,
  /** The model of a session that starts with this message. Default: the one of the routes. */
  model: label.optional(),
  /** `true`: nothing of a session that starts with this message is remembered. */
  private: z.boolean().optional(),
})

const pastMessageSchema = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string().optional() }))]),
})

/** One message, or a list whose last user message is used. */
export const plainChatRequestSchema = z.strictObject({
  message: z.string().optional(),
  messages: z.array(pastMessageSchema).max(1000).optional(),
  ...messageFields,
})
export type PlainChatRequest = z.infer<typeof plainChatRequestSchema>

export const chatQuerySchema = z.strictObject({
  /** After this time the reply is 408, and the turn continues. */
  timeoutSeconds: z.coerce.number().positive().max(86_400).optional(),
})

export const usageReplySchema = z.object(usageSchema.shape)

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
  sessionId: z.string(),
  turnId: z.string(),
  outcome: turnOutcomeReplySchema,
  pendingQuestion: z.string().nullable(),
  /** The answers that the question offers. Send `answers` with their `id`, or just the number. */
  pendingChoices: openChoicesSchema.optional(),
  /** False if the reply is a silent token, which is stored and not shown. */
  deliver: z.boolean(),
  toolCalls: z.array(z.object({ name: z.string(), input: json, isError: z.boolean() })),
  /** Visual output of tools: `html` for a sandboxed frame, `text` for other clients. */
  cards: z.array(cardSchema),
  model: z.string(),
  rounds: z.number().int(),
  usage: usageReplySchema,
  /** Null if a model without a price was used. */
  costUsd: z.number().nullable(),
  /** References that were not included, such as an unknown `@path`. They are also at the end of the reply. */
  notices: z.array(z.string()),
  /** The memories that were recalled at the start of the turn. */
  memories: z.array(z.object({ id: z.string(), text: z.string() })),
  /** The files of the message; absent if it has none. */
  attachments: z
    .array(
      z.object({
        name: z.string(),
        state: z.enum(['image', 'text', 'partial', 'file', 'unreadable']),
        note: z.string(),
        path: z.string().nullable(),
      }),
    )
    .optional(),
  /** The files that tools made in this turn, as they were then; absent if there are none. */
  files: z
    .array(
      z.object({
        name: z.string(),
        /** In the workspace; null if it is not stored there. */
        path: z.string().nullable(),
        bytes: z.number().int(),
        mediaType: z.string(),
        /** For downloading it: a path of this server. */
        url: z.string(),
      }),
    )
    .optional(),
  meta: z.object({ hasToolCalls: z.literal(false) }),
})
export type ChatReply = Wire<typeof chatReplySchema>

/** The turn waits for results of the client's tools. */
export const clientCallsReplySchema = z.object({
  /** Always empty: the model replies after the calls. */
  reply: z.literal(''),
  sessionId: z.string(),
  turnId: z.string(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: json })),
  /** Later results are refused, and the model continues without them. */
  expiresAt: time,
  meta: z.object({ hasToolCalls: z.literal(true) }),
})
export type ClientCallsReply = Wire<typeof clientCallsReplySchema>

/** The reply, or the client tool calls that the turn waits for. */
export const turnReplySchema = z.union([chatReplySchema, clientCallsReplySchema])

export const notifyReplySchema = z.object({
  messageId: z.string(),
  sessionId: z.string(),
  duplicate: z.boolean(),
})

export const errorReplySchema = z.object({
  error: z.string(),
  code: z.string(),
  /** For internal errors: the id to search for in the log. */
  request_id: z.string().optional(),
  session_id: z.string().optional(),
  message_id: z.string().optional(),
  turn_id: z.string().optional(),
})
export type ErrorReply = Wire<typeof errorReplySchema>

export const publicStatusSchema = z.object({
  ok: z.boolean(),
  name: z.string(),
  version: z.string(),
  uptimeSeconds: z.number(),
})

export const statusReplySchema = publicStatusSchema.extend({
  /** Only with a token. */
  stats: z
    .object({
      model: z.string(),
      sessions: z.number().int(),
      turnsRunning: z.number().int(),
      messagesWaiting: z.number().int(),
      costTodayUsd: z.number(),
      callsToday: z.number().int(),
      unpricedCallsToday: z.number().int(),
      estimatedCallsToday: z.number().int(),
    })
    .optional(),
})
export type StatusReply = Wire<typeof statusReplySchema>

export const sessionReplySchema = z.object({
  id: z.string(),
  channel: z.string(),
  contact: z.string(),
  state: z.enum(['active', 'archived']),
  /** The number of events in its log. */
  events: z.number().int(),
  lastInputTokens: z.number().int(),
  createdAt: time,
  updatedAt: time,
})
export type SessionReply = Wire<typeof sessionReplySchema>

const flag = z.enum(['true', 'false']).default('false')

export const sessionsQuerySchema = z.strictObject({ archived: flag })
export const sessionsReplySchema = z.object({ sessions: z.array(sessionReplySchema) })

/** `all`, a contact, or the id of a session. */
export const resetRequestSchema = z.strictObject({ target: label })
export const resetReplySchema = z.object({ archived: z.array(sessionReplySchema) })

export const historyQuerySchema = z.strictObject({
  /** `true`: every event, with tool calls; default: messages and replies only. */
  full: flag,
  after: z.coerce.number().int().nonnegative().default(0),
  limit: z.coerce.number().int().min(1).max(1000).default(500),
})

export const historyEventSchema = z.object({
  seq: z.number().int(),
  at: time,
  turnId: z.string().nullable(),
  type: z.string(),
  role: z.enum(['user', 'assistant']).nullable(),
  text: z.string().nullable(),
  /** The event as in the log. Only with `full`. */
  data: z.record(z.string(), json).optional(),
})
export type HistoryEvent = Wire<typeof historyEventSchema>

export const historyReplySchema = z.object({
  sessionId: z.string(),
  events: z.array(historyEventSchema),
  /** The start of the next page; null on the last page. */
  nextAfter: z.number().int().nullable(),
})
export type HistoryReply = Wire<typeof historyReplySchema>

export const eventsQuerySchema = z.strictObject({
  /** A cursor. The header `Last-Event-ID` overrides it. Default: the beginning. */
  after: z.string().max(64).optional(),
})

export const stopReplySchema = z.object({ stopped: z.boolean() })

export const queueReplySchema = z.object({
  messages: z.array(z.object({ messageId: z.string(), message: z.string(), receivedAt: time })),
})

export const cancelReplySchema = z.object({ canceled: z.literal(true) })

export const markRequestSchema = z.strictObject({ name: label })
export const markReplySchema = z.object({ sessionId: z.string(), name: z.string() })

export const rewindRequestSchema = z
  .strictObject({ mark: label.optional(), turns: z.number().int().min(1).max(1_000_000).optional() })
  .refine((to) => (to.mark === undefined) !== (to.turns === undefined), 'needs either "mark" or "turns"')
export const rewindReplySchema = z.object({ sessionId: z.string() })

export const forkRequestSchema = z.strictObject({ contact })

export const compactReplySchema = z.object({ compacted: z.boolean() })

export const contextReplySchema = z.object({
  tokenizer: z.string(),
  /** The provider's count for the newest request; null before the first. */
  lastRequestTokens: z.number().int().nullable(),
  thresholdTokens: z.number().int(),
  blocks: z.array(z.object({ name: z.string(), tier: z.string(), tokens: z.number().int(), cached: z.boolean() })),
})
export type ContextReply = Wire<typeof contextReplySchema>

export const costPeriodSchema = z.enum(['today', 'week', 'month', 'all'])
export const costQuerySchema = z.strictObject({ period: costPeriodSchema.default('today') })

export const costReplySchema = z.object({
  period: costPeriodSchema,
  totalUsd: z.number(),
  calls: z.number().int(),
  /** Calls to models without a price: their cost is unknown, not zero. */
  unpricedCalls: z.number().int(),
  /** Calls with estimated tokens and cost: the provider sent no count, or the call was interrupted. */
  estimatedCalls: z.number().int(),
  byModel: z.array(
    z.object({
      model: z.string(),
      calls: z.number().int(),
      ...usageReplySchema.shape,
      costUsd: z.number().nullable(),
      estimatedCalls: z.number().int(),
    }),
  ),
})

export const monitorReplySchema = z.object({
  state: z.enum(['idle', 'thinking', 'tools', 'retry_wait']),
  updatedAt: time,
  turns: z.array(
    z.object({
      sessionId: z.string(),
      /** `subagent` and `builder` are background work for a conversation. */
      channel: z.string(),
      contact: z.string(),
      turnId: z.string(),
      state: z.enum(['thinking', 'tools', 'retry_wait']),
      model: z.string(),
      round: z.number().int(),
      tools: z.array(z.string()),
      inputTokens: z.number().int(),
      outputTokens: z.number().int(),
      startedAt: time,
      updatedAt: time,
    }),
  ),
})
export type MonitorReply = Wire<typeof monitorReplySchema>

export const emptyRequestSchema = emptySchema

function isPlainLabel(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text)
}

export const chat = {
  send: operation(
    'POST /api/v1/chat',
    'Send a message and wait for the reply. With `Accept: text/event-stream`, stream it.',
    {
      scope: 'chat',
      query: chatQuerySchema,
      body: messageRequestSchema,
      attachments: true,
      reply: turnReplySchema,
      events: true,
    },
  ),
  notify: operation(
    'POST /api/v1/notify',
    'Send a message without waiting. It is stored before the response, and its turn runs in the background.',
    { scope: 'chat', body: messageRequestSchema, attachments: true, reply: notifyReplySchema, status: 202 },
  ),
  plain: operation('POST /api/chat', 'Send a whole list of messages and stream the tool events and the reply.', {
    scope: 'chat',
    body: plainChatRequestSchema,
    attachments: true,
    reply: turnReplySchema,
    events: true,
  }),
  post: operation(
    'POST /api/v1/messages',
    'Send a message without waiting. Stream the events of its session for the reply.',
    { scope: 'chat', body: postRequestSchema, attachments: true, reply: notifyReplySchema, status: 202 },
  ),
}

export const sessions = {
  list: operation(
    'GET /api/v1/sessions',
    'List active sessions, newest first. With `archived=true`, include archived ones.',
    { scope: 'read', query: sessionsQuerySchema, reply: sessionsReplySchema },
  ),
  reset: operation(
    'POST /api/v1/sessions/reset',
    'Archive all sessions, the sessions of a contact, or one session by id. Nothing is deleted.',
    { scope: 'owner', body: resetRequestSchema, reply: resetReplySchema },
  ),
  history: operation(
    'GET /api/v1/sessions/:id/history',
    'List the messages and replies of a session. With `full=true`, list every event, including tool calls.',
    { scope: 'read', query: historyQuerySchema, reply: historyReplySchema },
  ),
  context: operation('GET /api/v1/sessions/:id/context', 'Get the contents of the context window, in tokens.', {
    scope: 'read',
    reply: contextReplySchema,
  }),
  stop: operation('POST /api/v1/sessions/:id/stop', 'Stop the running turn of a session.', {
    scope: 'chat',
    reply: stopReplySchema,
  }),
  queue: operation('GET /api/v1/sessions/:id/queue', 'List queued messages, oldest first.', {
    scope: 'read',
    reply: queueReplySchema,
  }),
  cancelQueued: operation(
    'DELETE /api/v1/sessions/:id/queue/:message',
    'Cancel a queued message. Returns 409 if its turn has started.',
    { scope: 'chat', reply: cancelReplySchema },
  ),
  mark: operation('POST /api/v1/sessions/:id/mark', 'Set a named mark at the current position of a session.', {
    scope: 'owner',
    body: markRequestSchema,
    reply: markReplySchema,
  }),
  rewind: operation(
    'POST /api/v1/sessions/:id/rewind',
    'Rewind a session to a mark, or by a number of turns. The log keeps the later events.',
    { scope: 'owner', body: rewindRequestSchema, reply: rewindReplySchema },
  ),
  fork: operation('POST /api/v1/sessions/:id/fork', 'Copy a session to a new contact.', {
    scope: 'owner',
    body: forkRequestSchema,
    reply: sessionReplySchema,
    status: 201,
  }),
  compact: operation('POST /api/v1/sessions/:id/compact', 'Summarize the oldest part of a session now.', {
    scope: 'owner',
    reply: compactReplySchema,
  }),
  events: operation('GET /api/v1/sessions/:id/events', 'Stream the events of a session, starting after a cursor.', {
    scope: 'read',
    query: eventsQuerySchema,
    events: true,
  }),
}
