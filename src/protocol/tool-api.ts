import { z } from 'zod'
import { cardSchema } from './card.ts'
import type { Json } from './json.ts'

/** What the HTTP API says of tools. No request names a host, a path or a program: those are for the local command line. */

const json = z.custom<Json>((value) => value !== undefined)

export const toolSummaryReplySchema = z.object({
  name: z.string(),
  description: z.string(),
  version: z.string().nullable(),
  category: z.string().nullable(),
  /** An emoji or the name of an icon. */
  icon: z.string().nullable(),
  kind: z.enum(['builtin', 'contract', 'mcp']),
  trigger: z.enum(['on_demand', 'cron', 'webhook']),
  status: z.enum(['system', 'available', 'connected', 'disabled', 'building', 'error']),
  /** What is wrong or missing, where, and what to do. */
  problem: z.string().nullable(),
})
export type ToolSummaryReply = z.infer<typeof toolSummaryReplySchema>

export const toolsReplySchema = z.object({ tools: z.array(toolSummaryReplySchema) })
export type ToolsReply = z.infer<typeof toolsReplySchema>

export const toolFieldReplySchema = z.object({
  key: z.string(),
  description: z.string(),
  is_secret: z.boolean(),
  is_required: z.boolean(),
  default: json,
})
export type ToolFieldReply = z.infer<typeof toolFieldReplySchema>

export const toolReplySchema = toolSummaryReplySchema.extend({
  directory: z.string().nullable(),
  /** JSON Schema. */
  parameters: json,
  configuration: z.array(toolFieldReplySchema),
  network: z.object({
    mode: z.enum(['none', 'bridge', 'host']),
    declared: z.array(z.string()),
    allowed: z.array(z.string()),
  }),
  limits: z
    .object({
      memory_bytes: z.number(),
      processes: z.number(),
      timeout_ms: z.number(),
      is_writable: z.boolean(),
    })
    .nullable(),
  /** Where it wanted to go and was not let through, newest last. */
  refused_hosts: z.array(z.string()),
  /** Its settings stand in its argument. */
  reads_argument: z.boolean(),
  notes: z.array(z.string()),
})
export type ToolReply = z.infer<typeof toolReplySchema>

/** By key. In a request, `***` keeps the secret that is set. */
export const toolSettingsSchema = z.record(z.string().min(1).max(200), json)

export const toolConfigReplySchema = z.object({ config: toolSettingsSchema })
export type ToolConfigReply = z.infer<typeof toolConfigReplySchema>

export const toolTestReplySchema = z.object({ ok: z.boolean(), message: z.string() })
export type ToolTestReply = z.infer<typeof toolTestReplySchema>

export const toolOwnTestsReplySchema = z.object({
  ok: z.boolean(),
  tests: z.array(
    z.object({
      name: z.string(),
      ok: z.boolean(),
      /** What was not as expected. */
      failures: z.array(z.string()),
      duration_ms: z.number(),
    }),
  ),
})
export type ToolOwnTestsReply = z.infer<typeof toolOwnTestsReplySchema>

const shortText = z.string().max(200).nullish()

/** In place of what the user's client has told. */
const runTelemetrySchema = z.strictObject({
  time: shortText,
  locale: shortText,
  language: shortText,
  city: shortText,
  country: shortText,
  lat: z.number().min(-90).max(90).nullish(),
  lon: z.number().min(-180).max(180).nullish(),
  device: shortText,
})

export const toolRunRequestSchema = z.strictObject({
  params: z.record(z.string(), json).default({}),
  telemetry: runTelemetrySchema.default({}),
})
export type ToolRunRequest = z.input<typeof toolRunRequestSchema>

const toolOutcomeSchema = z.enum(['succeeded', 'failed', 'timed_out', 'service_failed', 'refused'])

/** What the tool answered, without secrets and with its HTML rebuilt, and how it ran. */
export const toolRunReplySchema = z.object({
  text: z.string().nullable(),
  html: z.string().nullable(),
  title: z.string().nullable(),
  error: z.string().nullable(),
  budget_remaining: z.number().nullable(),
  duration_ms: z.number(),
  /** The sandbox that it ran in; null where it did not run. */
  driver: z.string().nullable(),
  outcome: toolOutcomeSchema,
  card: cardSchema.nullable(),
  notes: z.array(z.string()),
  /** What it wrote to standard error. */
  log: z.string(),
})
export type ToolRunReply = z.infer<typeof toolRunReplySchema>

export const toolCallReplySchema = z.object({
  id: z.string(),
  tool: z.string(),
  caller: z.enum(['turn', 'user', 'cron', 'webhook']),
  session_id: z.string().nullable(),
  turn_id: z.string().nullable(),
  topic: z.string(),
  outcome: toolOutcomeSchema,
  at: z.string(),
  duration_ms: z.number(),
  budget_remaining: z.number().nullable(),
  driver: z.string().nullable(),
  error: z.string().nullable(),
})
export type ToolCallReply = z.infer<typeof toolCallReplySchema>

export const toolCallsQuerySchema = z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) })
export const toolCallsReplySchema = z.object({ calls: z.array(toolCallReplySchema) })
export type ToolCallsReply = z.infer<typeof toolCallsReplySchema>

/** The paths and answers that the tool contract itself publishes. */

export const contractToolsReplySchema = z.object({
  tools: z.array(
    toolSummaryReplySchema.extend({
      config_schema: z.record(
        z.string(),
        z.object({ description: z.string(), secret: z.boolean(), required: z.boolean(), default: json }),
      ),
    }),
  ),
})
export type ContractToolsReply = z.infer<typeof contractToolsReplySchema>

export const contractOkReplySchema = z.object({ ok: z.literal(true) })
export type ContractOkReply = z.infer<typeof contractOkReplySchema>
