import { z } from 'zod'
import {
  costQuerySchema,
  costReplySchema,
  monitorReplySchema,
  statusReplySchema,
  turnOutcomeReplySchema,
  usageReplySchema,
} from './api.ts'
import { operation, ownerChanges, ownerReads, time, type Wire } from './operation.ts'

/** Traces of turns, and the requests to models. */

export const traceQuerySchema = z.strictObject({
  /** Default: the newest turn of the session. */
  turn: z.string().max(100).optional(),
})

const traceSpanSchema = z.object({
  /** The arguments, the reason of a wait, or the error. */
  detail: z.string(),
  isError: z.boolean(),
  usage: usageReplySchema.nullable(),
  /** Null without a price, and for other steps than model calls. */
  costUsd: z.number().nullable(),
  /** Its position in the log: of its end or, while it runs, of its start. */
  seq: z.number().int(),
  /** `note`: a single moment. */
  kind: z.enum(['model', 'tool', 'wait', 'note']),
  name: z.string(),
  startedAt: time,
  /** Null while it runs. */
  endedAt: time.nullable(),
})
export type TraceSpan = Wire<typeof traceSpanSchema>

const otherCallSchema = z.object({
  at: time,
  sessionId: z.string().nullable(),
  purpose: z.string(),
  model: z.string(),
  state: z.enum(['reserved', 'settled', 'estimated', 'interrupted', 'failed']),
  usage: usageReplySchema,
  costUsd: z.number().nullable(),
})

export const traceReplySchema = z.object({
  sessionId: z.string(),
  /** Null before the first turn; the other fields are then empty. */
  turnId: z.string().nullable(),
  startedAt: time.nullable(),
  /** Null while it runs. */
  endedAt: time.nullable(),
  outcome: turnOutcomeReplySchema.nullable(),
  /** The beginning of the message. */
  message: z.string(),
  spans: z.array(traceSpanSchema),
  /** Calls for this turn that are not steps of it: sub-agents, summaries, interrupted calls. */
  otherCalls: z.array(otherCallSchema),
})
export type TraceReply = Wire<typeof traceReplySchema>

export const requestsQuerySchema = z.strictObject({
  /** Only requests before this position of the log. Default: the newest. */
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(30),
})

export const requestsReplySchema = z.object({
  /** Newest first. */
  requests: z.array(
    z.object({
      seq: z.number().int(),
      /** The time of the response. */
      at: time,
      turnId: z.string().nullable(),
      model: z.string(),
      usage: usageReplySchema,
      costUsd: z.number().nullable(),
    }),
  ),
  /** The value of `before` for the next page; null on the last page. */
  before: z.number().int().nullable(),
})
export type RequestsReply = Wire<typeof requestsReplySchema>

/** Spending, and its limits. */

const spendingPeriodSchema = z.enum(['today', 'week', 'month', 'quarter', 'year', 'all'])
export const spendingQuerySchema = z.strictObject({ period: spendingPeriodSchema.default('month') })

const spentSchema = z.object({
  calls: z.number().int(),
  /** Calls to models without a price: their cost is unknown, and not in `cost_usd`. */
  unpricedCalls: z.number().int(),
  /** Calls with estimated tokens and cost: the provider sent no count, or the call was interrupted. */
  estimatedCalls: z.number().int(),
  ...usageReplySchema.shape,
  costUsd: z.number(),
})
export type SpentReply = Wire<typeof spentSchema>

const namedSpentSchema = z.object({ name: z.string(), ...spentSchema.shape })

export const spendingReplySchema = z.object({
  period: spendingPeriodSchema,
  total: spentSchema,
  /** In order, with days without calls. */
  days: z.array(
    z.object({
      /** `2026-11-15`, in the time zone of the machine. */
      day: z.string(),
      total: spentSchema,
      byModel: z.array(
        z.object({
          name: z.string(),
          calls: z.number().int(),
          /** Input and output. */
          tokens: z.number().int(),
          costUsd: z.number(),
        }),
      ),
    }),
  ),
  /** The most expensive first, as in the next two. */
  byModel: z.array(namedSpentSchema),
  byPurpose: z.array(namedSpentSchema),
  bySession: z.array(z.object({ sessionId: z.string().nullable(), ...spentSchema.shape })),
  /** The number of omitted sessions. */
  sessionsLeftOut: z.number().int(),
})
export type SpendingReply = Wire<typeof spendingReplySchema>

export const budgetsReplySchema = z.object({
  /** The config table of the limits. */
  section: z.string(),
  caps: z.array(
    z.object({
      name: z.enum(['message', 'build', 'day', 'month']),
      /** Null: no limit. */
      limitUsd: z.number().nullable(),
      /** In this day or month; for a message or build: the most expensive one today. */
      spentUsd: z.number(),
      /** Reserved for running calls. */
      reservedUsd: z.number(),
    }),
  ),
})
export type BudgetsReply = Wire<typeof budgetsReplySchema>

/** The whole reply, because it needs no token. */
export const healthReplySchema = z.strictObject({ ok: z.literal(true) })

/** The home: its health, its configuration and its models. */

export const doctorRequestSchema = z.strictObject({
  /** Also checks the keys with the configured servers. */
  network: z.boolean().default(false),
})

export const doctorReplySchema = z.object({
  ok: z.boolean(),
  findings: z.array(
    z.object({
      check: z.string(),
      state: z.enum(['ok', 'warn', 'fail']),
      message: z.string(),
      /** The command that fixes it. */
      mend: z.string().optional(),
    }),
  ),
})
export type DoctorReply = Wire<typeof doctorReplySchema>

const settingSchema = z.object({
  /** As in `familiar.toml`: `budget.per_day_usd`. */
  key: z.string(),
  /** As in `familiar.toml`; null if it is hidden. */
  value: z.string().nullable(),
  origin: z.enum(['default', 'file', 'environment', 'command_line']),
  /** The place that sets it: `familiar.toml:12`, `FAMILIAR_PORT`. Null for a default. */
  place: z.string().nullable(),
})
export type Setting = Wire<typeof settingSchema>

export const settingsReplySchema = z.object({
  /** The folder of the files. */
  home: z.string(),
  settings: z.array(settingSchema),
  /** False if the files have changed since they were read. */
  isCurrent: z.boolean(),
  /** Problems of the files as they are now. The earlier configuration stays in use. */
  problems: z.array(z.string()),
  /** Changed settings that take effect at the next start: `telegram`, `http`. */
  restartNeeded: z.array(z.string()),
})
export type SettingsReply = Wire<typeof settingsReplySchema>

/** The result of a reload. With problems, nothing has changed. */
export const reloadReplySchema = z.object({
  ok: z.boolean(),
  problems: z.array(z.string()),
  restartNeeded: z.array(z.string()),
  /** The current model. */
  model: z.string(),
})

const listedModelSchema = z.object({
  id: z.string(),
  provider: z.string(),
  /** Null unless the caller is the owner. */
  providerType: z.string().nullable(),
  /** Whether a key is set. Null unless the caller is the owner. */
  hasKey: z.boolean().nullable(),
  maxTokens: z.number(),
  maxContextTokens: z.number(),
  supportsVision: z.boolean(),
  isOffline: z.boolean(),
  /** Dollars per million tokens; null without a price. */
  costPerMtok: z
    .object({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() })
    .nullable(),
})
export type ListedModel = Wire<typeof listedModelSchema>

export const modelsReplySchema = z.object({
  /** The model of sessions without a choice of their own. */
  current: z.string(),
  models: z.array(listedModelSchema),
  /** The first model is tried first; the others are fallbacks. */
  routes: z.array(z.object({ name: z.string(), models: z.array(z.string()) })),
})
export type ModelsReply = Wire<typeof modelsReplySchema>

export const home = {
  status: operation(
    'GET /api/v1/status',
    'Get the status of the daemon. With a token, include activity and today’s cost.',
    { auth: 'optional', scope: 'read', reply: statusReplySchema },
  ),
  monitor: operation('GET /api/v1/monitor', 'List your running turns.', { scope: 'read', reply: monitorReplySchema }),
  doctor: operation('GET /api/v1/doctor', 'Run the checks of `familiar doctor` without the network.', {
    ...ownerReads,
    reply: doctorReplySchema,
  }),
  examine: operation(
    'POST /api/v1/doctor',
    'Run the checks of `familiar doctor`. With `network=true`, also check that the configured servers respond.',
    { ...ownerChanges, body: doctorRequestSchema, reply: doctorReplySchema },
  ),
  settings: operation('GET /api/v1/settings', 'List settings with their values and origins.', {
    ...ownerReads,
    reply: settingsReplySchema,
  }),
  reload: operation(
    'POST /api/v1/reload',
    'Reload the configuration files. If they have problems, the current configuration stays in use.',
    { ...ownerChanges, body: undefined, reply: reloadReplySchema },
  ),
  models: operation('GET /api/v1/models', 'List the models that the caller may use, with routes and prices.', {
    scope: 'read',
    reply: modelsReplySchema,
  }),
  health: operation('GET /healthz', 'Check that the daemon runs.', {
    auth: 'optional',
    scope: 'read',
    reply: healthReplySchema,
  }),
  ready: operation(
    'GET /readyz',
    'Check that the daemon accepts work. Returns 503 if the database does not respond or the daemon is stopping.',
    { auth: 'optional', scope: 'read', reply: healthReplySchema },
  ),
  openApi: operation('GET /api/v1/openapi.json', 'Get this OpenAPI document.', { scope: 'read' }),
  metrics: operation('GET /metrics', 'Get metrics for Prometheus.', {
    ...ownerReads,
    mediaTypes: [
      'text/plain; version=0.0.4; charset=utf-8',
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    ],
  }),
}

export const costs = {
  report: operation('GET /api/v1/cost', 'Get the cost by model.', {
    scope: 'read',
    query: costQuerySchema,
    reply: costReplySchema,
  }),
  spending: operation('GET /api/v1/cost/spending', 'Get the spending by day, model, purpose and session.', {
    scope: 'read',
    query: spendingQuerySchema,
    reply: spendingReplySchema,
  }),
  budgets: operation('GET /api/v1/cost/caps', 'Get the budgets and the amounts spent.', {
    scope: 'read',
    reply: budgetsReplySchema,
  }),
}

export const traces = {
  turn: operation(
    'GET /api/v1/sessions/:id/trace',
    'Get the timeline of a turn: model calls, tools and waits, with tokens and cost.',
    { scope: 'read', query: traceQuerySchema, reply: traceReplySchema },
  ),
  requests: operation('GET /api/v1/sessions/:id/requests', 'List the model requests of a session, newest first.', {
    scope: 'read',
    query: requestsQuerySchema,
    reply: requestsReplySchema,
  }),
}
