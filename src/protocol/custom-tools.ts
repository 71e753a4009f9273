import { z } from 'zod'
import { choicesSchema, offerFields } from './choices.ts'
import { cardSchema, type Json } from './messages.ts'
import { asWritten, onMachine, operation, time, type Value, type Wire } from './operation.ts'
import { toolCallsQuerySchema, toolCallsReplySchema } from './tools.ts'

/** Builds of capabilities (CAP-7). */

const common = { build_id: z.string(), seq: z.number(), at: z.string() }

/** `seq` is the cursor: a reader continues after the last one that it has read. */
export const buildEventSchema = z.discriminatedUnion('type', [
  z.object({ ...common, type: z.literal('progress'), message: z.string() }),
  z.object({
    ...common,
    type: z.literal('question'),
    question_id: z.string(),
    question: z.string(),
    expires_at: z.string(),
    ...offerFields,
  }),
  z.object({
    ...common,
    type: z.literal('secret_request'),
    question_id: z.string(),
    /** The name in the vault. */
    secret: z.string(),
    question: z.string(),
    expires_at: z.string(),
  }),
  /** The answer to a question; null for a secret, and for a question that expired. */
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
  /** `waiting`: it continues when its question is answered. */
  state: z.enum(['running', 'waiting', 'complete', 'failed', 'stopped']),
  description: z.string(),
  sessionId: z.string().nullable(),
  error: z.string().nullable(),
  createdAt: time,
  endedAt: time.nullable(),
})
export type BuildReply = Wire<typeof buildReplySchema>

export const buildsReplySchema = z.object({ builds: z.array(buildReplySchema) })

export const buildQuestionReplySchema = z.object({
  id: z.string(),
  buildId: z.string(),
  name: z.string(),
  kind: z.enum(['question', 'secret']),
  question: z.string(),
  secret: z.string().nullable(),
  /** The answers that it offers, if any. The number or the label of one is an answer. */
  choices: choicesSchema.optional(),
  /** The Builder had read untrusted text when it asked. */
  isUntrusted: z.boolean(),
  askedAt: time,
  expiresAt: time,
})
export type BuildQuestion = Value<typeof buildQuestionReplySchema>
export type BuildQuestionReply = Wire<typeof buildQuestionReplySchema>

export const buildQuestionsReplySchema = z.object({ questions: z.array(buildQuestionReplySchema) })

export const buildAnswerRequestSchema = z.strictObject({ answer: z.string().min(1).max(10_000) })
export const buildSecretRequestSchema = z.strictObject({ value: z.string().min(1).max(16_384) })

export const buildsQuerySchema = z.strictObject({
  name: z.string().min(1).max(200).optional(),
  state: z.enum(['running', 'complete', 'failed', 'stopped']).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(50),
})

/** The number of the last event that was read. The header `Last-Event-ID` overrides it. */
const cursorSchema = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
export const buildEventsQuerySchema = z.strictObject({ after: cursorSchema.optional() })
export const builderStatusQuerySchema = asWritten(z.strictObject({ buildId: z.string().min(1).max(200) }))

export const buildEventsReplySchema = z.object({ events: z.array(buildEventSchema) })

export const buildStopReplySchema = z.object({ stopped: z.boolean() })

export const buildAnsweredReplySchema = z.object({ ok: z.literal(true) })

/** Capabilities. Only requests of this machine's command line name a path. */

const json = z.custom<Json>((value) => value !== undefined)
const versionSchema = z.number().int().min(1).max(1_000_000)
const stateSchema = z.enum(['building', 'active', 'failed', 'disabled'])

export const capabilitySummaryReplySchema = z.object({
  name: z.string(),
  description: z.string(),
  state: stateSchema,
  origin: z.enum(['built', 'written', 'imported']),
  /** The active version; null before the first. */
  version: z.number().nullable(),
  tags: z.array(z.string()),
  /** The error, or the missing part. */
  problem: z.string().nullable(),
  /** Disabled until its permissions are approved on this machine. */
  needsApproval: z.boolean(),
  calls: z.number(),
  failures: z.number(),
  lastCalledAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
})
export type CapabilitySummaryReply = Wire<typeof capabilitySummaryReplySchema>

export const capabilitiesQuerySchema = z.strictObject({
  state: stateSchema.optional(),
  /** Searches enabled capabilities by words and meaning. Default: list all by name. */
  query: z.string().min(1).max(500).optional(),
})
export const capabilitiesReplySchema = z.object({ capabilities: z.array(capabilitySummaryReplySchema) })

export const capabilityReplySchema = capabilitySummaryReplySchema.extend({
  /** The name that the model calls. */
  tool: z.string(),
  /** Example requests of the active version. */
  askedAs: z.array(z.string()),
  /** JSON Schema. */
  inputSchema: json,
  permissions: z.object({
    hosts: z.array(z.string()),
    secrets: z.array(z.object({ name: z.string(), description: z.string(), isSet: z.boolean() })),
    storage: z.boolean(),
  }),
  /** Oldest first. */
  versions: z.array(
    z.object({
      version: z.number(),
      runtime: z.enum(['python', 'node']),
      hash: z.string(),
      buildId: z.string().nullable(),
      createdAt: time,
    }),
  ),
  statistics: z.object({
    calls: z.number(),
    failures: z.number(),
    /** The median of the newest 200 calls. */
    medianMs: z.number().nullable(),
    lastCalledAt: time.nullable(),
    lastError: z.string().nullable(),
  }),
  /** The newest. */
  build: buildReplySchema.nullable(),
})
export type CapabilityStatistics = Value<typeof capabilityReplySchema>['statistics']
export type CapabilityReply = Wire<typeof capabilityReplySchema>

export const capabilityRunRequestSchema = z.strictObject({
  args: z.record(z.string(), json).default({}),
  /** Default: the active one. */
  version: versionSchema.optional(),
})

/** Its return value, without secrets and with its HTML rebuilt, and how it ran. */
export const capabilityRunReplySchema = z.object({
  ok: z.boolean(),
  value: json,
  text: z.string(),
  card: cardSchema.nullable(),
  error: z.string().nullable(),
  outcome: z.enum(['succeeded', 'failed', 'timed_out', 'service_failed', 'refused']),
  /** Its printed output. */
  log: z.string(),
  refusedHosts: z.array(z.string()),
  durationMs: z.number(),
  /** The sandbox that it ran in; null if it did not run. */
  driver: z.string().nullable(),
})

export const capabilityRollbackRequestSchema = z.strictObject({
  /** Default: the previous one. */
  version: versionSchema.optional(),
})

const versionInQuery = z.coerce.number().int().min(1).max(1_000_000).optional()

export const capabilityDiffQuerySchema = z.strictObject({ from: versionInQuery, to: versionInQuery })
export const capabilityDiffReplySchema = z.object({
  from: z.number(),
  to: z.number(),
  /** Each as a unified diff; empty if the versions are equal. */
  files: z.array(z.object({ path: z.string(), kind: z.enum(['added', 'removed', 'changed']), text: z.string() })),
})
export type VersionDifference = Value<typeof capabilityDiffReplySchema>

export const capabilityFilesQuerySchema = z.strictObject({ version: versionInQuery })
export const capabilityFilesReplySchema = z.object({
  version: z.number(),
  /** In order of path; `text` is null for binary files. */
  files: z.array(z.object({ path: z.string(), bytes: z.number(), text: z.string().nullable() })),
})

export const capabilityRepairRequestSchema = z.strictObject({
  /** A description of the problem. The last failed call is always included. */
  problem: z.string().min(1).max(4_000).optional(),
})

export const capabilitySecretRequestSchema = z.strictObject({ value: z.string().min(1).max(16_384) })
/** Whether a build was waiting for it. */
export const capabilitySecretReplySchema = z.object({ wasAwaited: z.boolean() })

export const capabilityProposalsReplySchema = z.object({
  proposals: z.array(z.object({ name: z.string(), reason: z.string() })),
})
export type RetirementProposal = Value<typeof capabilityProposalsReplySchema>['proposals'][number]

/** Only for the command line of this machine (SEC-4). */

const directorySchema = z.string().min(1).max(4_096)

export const capabilityDirectoryRequestSchema = z.strictObject({ directory: directorySchema })
export const capabilityApproveRequestSchema = z.strictObject({
  /** The version whose permissions the owner has seen. */
  version: versionSchema,
})

export const registrationProgressSchema = z.object({ message: z.string() })

export const registrationReplySchema = z.object({
  ok: z.boolean(),
  /** Null if it was refused. */
  name: z.string().nullable(),
  version: z.number().nullable(),
  examples: z.array(z.object({ input: json, ok: z.boolean(), detail: z.string() })),
  problems: z.array(z.string()),
})

export const capabilityExportReplySchema = z.object({ directory: z.string(), files: z.array(z.string()) })

export const capabilities = {
  list: operation('GET /api/v1/capabilities', 'List capabilities. With `query`, list those that match, best first.', {
    scope: 'read',
    query: capabilitiesQuerySchema,
    reply: capabilitiesReplySchema,
  }),
  proposals: operation(
    'GET /api/v1/capabilities/proposals',
    'List capabilities that could be disabled, with the reason. None is disabled automatically.',
    { scope: 'read', reply: capabilityProposalsReplySchema },
  ),
  show: operation(
    'GET /api/v1/capabilities/:name',
    'Get a capability with its permissions, versions, statistics and newest build.',
    { scope: 'read', reply: capabilityReplySchema },
  ),
  diff: operation(
    'GET /api/v1/capabilities/:name/diff',
    'Compare two versions of a capability. By default, compare the active version with the one before.',
    { scope: 'read', query: capabilityDiffQuerySchema, reply: capabilityDiffReplySchema },
  ),
  calls: operation('GET /api/v1/capabilities/:name/calls', 'List the calls of a capability, newest first.', {
    scope: 'read',
    query: toolCallsQuerySchema,
    reply: toolCallsReplySchema,
  }),
  files: operation(
    'GET /api/v1/capabilities/:name/files',
    'List the files of a version with their contents. Default: the active version.',
    { scope: 'read', query: capabilityFilesQuerySchema, reply: capabilityFilesReplySchema },
  ),
  run: operation(
    'POST /api/v1/capabilities/:name/run',
    'Run a capability. Returns 200 even if it fails; the reply contains its error.',
    { scope: 'chat', body: capabilityRunRequestSchema, reply: capabilityRunReplySchema },
  ),
  repair: operation(
    'POST /api/v1/capabilities/:name/repair',
    'Repair a capability in the background. The current version stays active until the new one passes its tests.',
    { scope: 'chat', body: capabilityRepairRequestSchema, reply: buildReplySchema, status: 202 },
  ),
  setSecret: operation(
    'PUT /api/v1/capabilities/:name/secrets/:key',
    'Store a secret of a capability. It cannot be read back.',
    { scope: 'owner', body: capabilitySecretRequestSchema, reply: capabilitySecretReplySchema },
  ),
  enable: operation(
    'POST /api/v1/capabilities/:name/enable',
    'Enable a capability. An imported one must be approved on this machine first.',
    { scope: 'owner', reply: capabilityReplySchema },
  ),
  disable: operation('POST /api/v1/capabilities/:name/disable', 'Disable a capability.', {
    scope: 'owner',
    reply: capabilityReplySchema,
  }),
  rollback: operation(
    'POST /api/v1/capabilities/:name/rollback',
    'Activate an earlier version of a capability. Default: the previous one.',
    { scope: 'owner', body: capabilityRollbackRequestSchema, reply: capabilityReplySchema },
  ),
  register: operation(
    'POST /api/v1/local/capabilities/register',
    'Check a folder and register it as a capability. Returns the problems that were found.',
    {
      ...onMachine,
      body: capabilityDirectoryRequestSchema,
      reply: registrationReplySchema,
      events: true,
    },
  ),
  importFolder: operation(
    'POST /api/v1/local/capabilities/import',
    'Import a capability from a folder. It stays disabled until its permissions are approved.',
    { ...onMachine, body: capabilityDirectoryRequestSchema, reply: registrationReplySchema },
  ),
  approve: operation(
    'POST /api/v1/local/capabilities/:name/approve',
    'Approve the permissions of an imported capability, check it and enable it.',
    {
      ...onMachine,
      body: capabilityApproveRequestSchema,
      reply: registrationReplySchema,
      events: true,
    },
  ),
  exportFolder: operation(
    'POST /api/v1/local/capabilities/:name/export',
    'Export a capability as a folder that is also an Agent Skill.',
    {
      ...onMachine,
      body: capabilityDirectoryRequestSchema,
      reply: capabilityExportReplySchema,
      status: 201,
    },
  ),
}

export const builds = {
  list: operation('GET /api/v1/builds', 'List builds, newest first.', {
    scope: 'read',
    query: buildsQuerySchema,
    reply: buildsReplySchema,
  }),
  questions: operation('GET /api/v1/builds/questions', 'List open questions of builds.', {
    scope: 'read',
    reply: buildQuestionsReplySchema,
  }),
  answer: operation(
    'POST /api/v1/builds/questions/:id',
    'Answer a question of a build, which then continues. Do not send secrets here.',
    { scope: 'chat', body: buildAnswerRequestSchema, reply: buildAnsweredReplySchema },
  ),
  giveSecret: operation(
    'POST /api/v1/builds/questions/:id/secret',
    'Send a build the secret that it asks for. It is stored in the vault; models never see it.',
    { scope: 'chat', body: buildSecretRequestSchema, reply: buildAnsweredReplySchema },
  ),
  show: operation('GET /api/v1/builds/:id', 'Get a build.', { scope: 'read', reply: buildReplySchema }),
  stop: operation('POST /api/v1/builds/:id/stop', 'Stop a build. Returns `false` if it has already ended.', {
    scope: 'chat',
    reply: buildStopReplySchema,
  }),
  events: operation(
    'GET /api/v1/builds/:id/events',
    'List the events of a build after a cursor. With `Accept: text/event-stream`, stream them until it ends.',
    { scope: 'read', query: buildEventsQuerySchema, reply: buildEventsReplySchema, events: true },
  ),
  status: operation('GET /api/builder/status', 'Stream the events of a build as messages with a type and a payload.', {
    scope: 'read',
    query: builderStatusQuerySchema,
    events: true,
  }),
}
