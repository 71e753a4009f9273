import { z } from 'zod'
import { chatQuerySchema, turnReplySchema } from './api.ts'
import { cardSchema, isShallow, type Json } from './messages.ts'
import { operation, ownerChanges, ownerOnMachine, ownerReads, time, type Value, type Wire } from './operation.ts'

/** Scheduled and webhook runs of tools, and the user's client. */

export const hookReplySchema = z.object({ runId: z.string() })

/** The secret is shown only once. The previous one stops working. */
export const hookSecretReplySchema = z.object({ path: z.string(), secret: z.string() })

export const triggerRunReplySchema = z.object({
  id: z.string(),
  tool: z.string(),
  kind: z.enum(['cron', 'webhook']),
  state: z.enum(['scheduled', 'running', 'done', 'failed', 'missed']),
  dueAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  /** It started late: Familiar was not running, or the machine slept. */
  isLate: z.boolean(),
  error: z.string().nullable(),
})
export type TriggerRun = Value<typeof triggerRunReplySchema>
export type TriggerRunReply = Wire<typeof triggerRunReplySchema>

export const triggerRunsReplySchema = z.object({ runs: z.array(triggerRunReplySchema) })

export const triggerRunsQuerySchema = z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) })

const triggerShortText = z.string().trim().min(1).max(100).nullish()

const clientContextFields = {
  locale: triggerShortText,
  language: triggerShortText,
  device: triggerShortText,
  city: triggerShortText,
  country: triggerShortText,
  lat: z.number().min(-90).max(90).nullish(),
  lon: z.number().min(-180).max(180).nullish(),
  /** The user agrees that tools get the location. Without it no part of the location is stored. */
  placeConsent: z.boolean().default(false),
}

/** Data about a client. Every field is optional. It replaces earlier data. */
export const clientContextRequestSchema = z.strictObject(clientContextFields)
export type ClientContextRequest = z.infer<typeof clientContextRequestSchema>

/** The same in the metadata of a message, where invalid fields are ignored. */
export const messageClientContextSchema = z.object({
  locale: clientContextFields.locale.catch(null),
  language: clientContextFields.language.catch(null),
  device: clientContextFields.device.catch(null),
  city: clientContextFields.city.catch(null),
  country: clientContextFields.country.catch(null),
  lat: clientContextFields.lat.catch(null),
  lon: clientContextFields.lon.catch(null),
  placeConsent: clientContextFields.placeConsent.catch(false),
})

export const clientContextReplySchema = z.object({ hasPlace: z.boolean(), keptUntil: time })
export type ClientContextKept = Value<typeof clientContextReplySchema>

const maxResultDepth = 64

const toolResultSchema = z.strictObject({
  callId: z.string().min(1).max(200),
  /** Text, or any JSON, which the model reads as text. */
  result: z
    .custom<Json>((value) => value !== undefined, 'is required')
    .refine((value) => isShallow(value, maxResultDepth), `must not be nested deeper than ${maxResultDepth} levels`),
  isError: z.boolean().default(false),
  /** It contains untrusted text, such as a web page. The model must treat it as data. */
  untrusted: z.boolean().default(false),
})

/** All of them are accepted, or none. */
export const toolResultsRequestSchema = z.strictObject({ results: z.array(toolResultSchema).min(1).max(64) })

/** MCP servers. The HTTP API only lists them: they are approved on the command line of this machine. */

export const mcpServerReplySchema = z.object({
  name: z.string(),
  state: z.enum(['new', 'approved', 'changed', 'disabled']),
  isConnected: z.boolean(),
  /** It requires a login on this machine: `familiar mcp login NAME`. */
  needsLogin: z.boolean().default(false),
  tools: z.array(z.object({ name: z.string(), description: z.string(), problem: z.string().nullable() })),
  /** The changes since it was approved, line by line. */
  changes: z.array(z.string()),
})

export const mcpServersReplySchema = z.object({ servers: z.array(mcpServerReplySchema) })

/** Skills. No request names a path, and approvals are given on this machine (SEC-4). */

const skillSummaryReplySchema = z.object({
  name: z.string(),
  description: z.string(),
  origin: z.enum(['workspace', 'imported', 'directory']),
  status: z.enum(['on', 'off', 'error']),
  /** The reason why it is not on, and what to do. */
  problem: z.string().nullable(),
  /** Its instructions are in every prompt. */
  isAlways: z.boolean(),
})
export type SkillSummary = Value<typeof skillSummaryReplySchema>
export type SkillSummaryReply = Wire<typeof skillSummaryReplySchema>

export const skillsReplySchema = z.object({ skills: z.array(skillSummaryReplySchema) })

export const skillReplySchema = skillSummaryReplySchema.extend({
  directory: z.string(),
  license: z.string().nullable(),
  compatibility: z.string().nullable(),
  /** The text that the model reads when it loads the skill. */
  instructions: z.string(),
  files: z.array(z.object({ path: z.string(), bytes: z.number() })),
  notes: z.array(z.string()),
  /** The hash of its folder. An approval is for this hash. */
  hash: z.string(),
})
export type SkillDetails = Value<typeof skillReplySchema>

/** The hash that was shown: only that content is approved. */
export const skillEnableRequestSchema = z.strictObject({ hash: z.string().max(100).optional() })

/** Tools. No request names a host, a path or a program: only the local command line does. */

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
  /** The error or the missing setting, where it is, and what to do. */
  problem: z.string().nullable(),
})
export type ToolSummary = Value<typeof toolSummaryReplySchema>
export type ToolSummaryReply = Wire<typeof toolSummaryReplySchema>

export const toolsReplySchema = z.object({ tools: z.array(toolSummaryReplySchema) })

export const toolFieldReplySchema = z.object({
  key: z.string(),
  description: z.string(),
  isSecret: z.boolean(),
  isRequired: z.boolean(),
  default: json,
})
export type ToolFieldReply = Wire<typeof toolFieldReplySchema>

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
      memoryBytes: z.number(),
      processes: z.number(),
      timeoutMs: z.number(),
      isWritable: z.boolean(),
    })
    .nullable(),
  /** Hosts that it tried to reach and that were blocked, newest last. */
  refusedHosts: z.array(z.string()),
  /** It gets its settings in its argument. */
  readsArgument: z.boolean(),
  notes: z.array(z.string()),
})
export type ToolDetails = Value<typeof toolReplySchema>
export type ToolReply = Wire<typeof toolReplySchema>

/** By key. In a request, `***` keeps the secret that is set. */
export const toolSettingsSchema = z.record(z.string().min(1).max(200), json)

export const toolConfigReplySchema = z.object({ config: toolSettingsSchema })

export const toolTestReplySchema = z.object({ ok: z.boolean(), message: z.string() })

export const toolOwnTestsReplySchema = z.object({
  ok: z.boolean(),
  tests: z.array(
    z.object({
      name: z.string(),
      ok: z.boolean(),
      /** The differences from the expected output. */
      failures: z.array(z.string()),
      durationMs: z.number(),
    }),
  ),
})

const shortText = z.string().max(200).nullish()

/** Overrides the data of the user's client. */
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

/** The output of the tool, without secrets and with its HTML rebuilt, and how it ran. */
export const toolRunReplySchema = z.object({
  text: z.string().nullable(),
  html: z.string().nullable(),
  title: z.string().nullable(),
  error: z.string().nullable(),
  budgetRemaining: z.number().nullable(),
  durationMs: z.number(),
  /** The sandbox that it ran in; null if it did not run. */
  driver: z.string().nullable(),
  outcome: toolOutcomeSchema,
  card: cardSchema.nullable(),
  notes: z.array(z.string()),
  /** Its standard error. */
  log: z.string(),
})
export type ToolRunReply = Wire<typeof toolRunReplySchema>

export const toolCallReplySchema = z.object({
  id: z.string(),
  tool: z.string(),
  caller: z.enum(['turn', 'user', 'cron', 'webhook']),
  sessionId: z.string().nullable(),
  turnId: z.string().nullable(),
  topic: z.string(),
  outcome: toolOutcomeSchema,
  at: time,
  durationMs: z.number(),
  budgetRemaining: z.number().nullable(),
  driver: z.string().nullable(),
  error: z.string().nullable(),
})
export type ToolCall = Value<typeof toolCallReplySchema>
export type ToolCallReply = Wire<typeof toolCallReplySchema>

export const toolCallsQuerySchema = z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) })
export const toolCallsReplySchema = z.object({ calls: z.array(toolCallReplySchema) })

/** The paths and replies of the published tool contract. */

export const contractToolsReplySchema = z.object({
  tools: z.array(
    toolSummaryReplySchema.extend({
      configSchema: z.record(
        z.string(),
        z.object({ description: z.string(), secret: z.boolean(), required: z.boolean(), default: json }),
      ),
    }),
  ),
})

export const contractOkReplySchema = z.object({ ok: z.literal(true) })

export const tools = {
  list: operation('GET /api/v1/tools', 'List tools with their status, including broken ones.', {
    scope: 'read',
    reply: toolsReplySchema,
  }),
  show: operation('GET /api/v1/tools/:name', 'Get a tool with its parameters, settings, limits and hosts.', {
    scope: 'read',
    reply: toolReplySchema,
  }),
  config: operation('GET /api/v1/tools/:name/config', 'Get the settings of a tool. Secrets are shown as `***`.', {
    scope: 'read',
    reply: toolConfigReplySchema,
  }),
  setConfig: operation(
    'PUT /api/v1/tools/:name/config',
    'Update settings of a tool. Omitted keys do not change, and `***` keeps a secret.',
    { scope: 'owner', body: toolSettingsSchema, reply: toolConfigReplySchema },
  ),
  deleteConfig: operation('DELETE /api/v1/tools/:name/config/:key', 'Delete a setting of a tool.', {
    scope: 'owner',
    reply: toolConfigReplySchema,
  }),
  test: operation('POST /api/v1/tools/:name/test', 'Check that a tool has all required settings, without running it.', {
    scope: 'owner',
    reply: toolTestReplySchema,
  }),
  ownTests: operation(
    'POST /api/v1/tools/:name/tests',
    'Run the tests of a tool (`tests.json`). Returns 200 even if tests fail.',
    { scope: 'owner', reply: toolOwnTestsReplySchema },
  ),
  run: operation(
    'POST /api/v1/tools/:name/run',
    'Run a tool. Returns 200 even if it fails; the reply contains its error.',
    { scope: 'owner', body: toolRunRequestSchema, reply: toolRunReplySchema },
  ),
  calls: operation('GET /api/v1/tools/:name/calls', 'List the calls of a tool, newest first.', {
    scope: 'read',
    query: toolCallsQuerySchema,
    reply: toolCallsReplySchema,
  }),
  enable: operation('POST /api/v1/tools/:name/enable', 'Enable a tool. This also approves its changes.', {
    ...ownerChanges,
    reply: toolReplySchema,
  }),
  disable: operation('POST /api/v1/tools/:name/disable', 'Disable a tool.', {
    ...ownerChanges,
    reply: toolReplySchema,
  }),
  reload: operation(
    'POST /api/v1/tools/:name/reload',
    'Reload the folders and approvals of all tools. Returns this tool.',
    { ...ownerChanges, reply: toolReplySchema },
  ),
}

const hook = {
  auth: 'signature',
  scope: 'read',
  // Only types that an HTML form of another site cannot send.
  rawBody: { mediaTypes: ['application/json', 'application/octet-stream'] },
  reply: hookReplySchema,
  status: 202,
} as const
const hookSummary = 'Run a tool by its webhook. The run is stored before the response.'

export const triggers = {
  hook: operation('POST /hooks/:tool', hookSummary, hook),
  hookOfApi: operation('POST /api/v1/hooks/:tool', hookSummary, hook),
  runs: operation('GET /api/v1/tools/:name/runs', 'List the scheduled and webhook runs of a tool, newest first.', {
    scope: 'read',
    query: triggerRunsQuerySchema,
    reply: triggerRunsReplySchema,
  }),
  allRuns: operation('GET /api/v1/runs', 'List the scheduled and webhook runs of all tools, newest first.', {
    scope: 'read',
    query: triggerRunsQuerySchema,
    reply: triggerRunsReplySchema,
  }),
  makeSecret: operation(
    'POST /api/v1/tools/:name/hook',
    'Create a new secret for the webhook of a tool. The secret is shown once.',
    { scope: 'owner', reply: hookSecretReplySchema, status: 201, showsSecret: true },
  ),
}

export const toolContract = {
  list: operation('GET /tools', 'List tools with their status and settings schema.', {
    scope: 'read',
    reply: contractToolsReplySchema,
  }),
  config: operation('GET /tools/:name/config', 'Get the settings of a tool. Secrets are shown as `***`.', {
    scope: 'read',
    reply: toolSettingsSchema,
  }),
  setConfig: operation('PUT /tools/:name/config', 'Update settings of a tool. Omitted keys do not change.', {
    scope: 'owner',
    body: toolSettingsSchema,
    reply: contractOkReplySchema,
  }),
  deleteConfig: operation('DELETE /tools/:name/config/:key', 'Delete a setting of a tool.', {
    scope: 'owner',
    reply: contractOkReplySchema,
  }),
  test: operation('POST /tools/:name/test', 'Check that a tool has all required settings, without running it.', {
    scope: 'owner',
    reply: toolTestReplySchema,
  }),
}

export const skills = {
  list: operation('GET /api/v1/skills', 'List skills with their status, including broken ones.', {
    ...ownerReads,
    reply: skillsReplySchema,
  }),
  show: operation('GET /api/v1/skills/:name', 'Get a skill with its instructions and files.', {
    ...ownerReads,
    reply: skillReplySchema,
  }),
  reload: operation('POST /api/v1/skills/reload', 'Reload the folders of skills.', {
    ...ownerChanges,
    reply: skillsReplySchema,
  }),
  enable: operation(
    'POST /api/v1/local/skills/:name/enable',
    'Enable a skill. For an imported skill, this approves its current content.',
    { ...ownerOnMachine, body: skillEnableRequestSchema, reply: skillReplySchema },
  ),
  disable: operation('POST /api/v1/skills/:name/disable', 'Disable a skill.', {
    ...ownerChanges,
    reply: skillReplySchema,
  }),
}

export const mcp = {
  servers: operation('GET /api/v1/mcp', 'List MCP servers with their tools and approval state.', {
    ...ownerReads,
    reply: mcpServersReplySchema,
  }),
  refresh: operation('POST /api/v1/mcp/refresh', 'Reload the approvals of MCP servers.', {
    ...ownerChanges,
    reply: mcpServersReplySchema,
  }),
}

export const mcpEndpoint = {
  post: operation('POST /mcp', 'Send a JSON-RPC message of the Model Context Protocol.', {
    scope: 'read',
    rawBody: { mediaTypes: ['application/json'] },
    events: true,
    mediaTypes: ['application/json'],
  }),
  listen: operation('GET /mcp', 'Stream the server messages of an MCP session (older protocol version).', {
    scope: 'read',
    events: true,
  }),
  end: operation('DELETE /mcp', 'End an MCP session (older protocol version).', { scope: 'read' }),
}

export const clientTools = {
  giveResults: operation(
    'POST /api/v1/sessions/:id/tool-results',
    'Send the results of client tool calls and wait for the rest of the turn.',
    { scope: 'chat', query: chatQuerySchema, body: toolResultsRequestSchema, reply: turnReplySchema },
  ),
  describe: operation(
    'PUT /api/v1/telemetry',
    'Store the language and device of this client for an hour. With `place_consent`, also store its location.',
    { scope: 'chat', body: clientContextRequestSchema, reply: clientContextReplySchema },
  ),
}
