import { z } from 'zod'
import { buildReplySchema } from './build-api.ts'
import { cardSchema } from './card.ts'
import type { Json } from './json.ts'

/** What the HTTP API says of capabilities. A request names a path only where it comes from this machine's command line. */

const json = z.custom<Json>((value) => value !== undefined)
const versionSchema = z.number().int().min(1).max(1_000_000)
const stateSchema = z.enum(['building', 'active', 'failed', 'disabled'])

export const capabilitySummaryReplySchema = z.object({
  name: z.string(),
  description: z.string(),
  state: stateSchema,
  origin: z.enum(['built', 'written', 'imported']),
  /** The one that serves; null before the first. */
  version: z.number().nullable(),
  tags: z.array(z.string()),
  /** What is wrong or missing. */
  problem: z.string().nullable(),
  /** Off until its permissions are approved on the machine itself. */
  needs_approval: z.boolean(),
  calls: z.number(),
  failures: z.number(),
  last_called_at: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
})
export type CapabilitySummaryReply = z.infer<typeof capabilitySummaryReplySchema>

export const capabilitiesQuerySchema = z.strictObject({
  state: stateSchema.optional(),
  /** By words and meaning, best first, among those that can be called. Absent: all of them by name. */
  query: z.string().min(1).max(500).optional(),
})
export const capabilitiesReplySchema = z.object({ capabilities: z.array(capabilitySummaryReplySchema) })
export type CapabilitiesReply = z.infer<typeof capabilitiesReplySchema>

export const capabilityReplySchema = capabilitySummaryReplySchema.extend({
  /** As the model calls it. */
  tool: z.string(),
  /** How somebody would ask for it, as its version says. */
  asked_as: z.array(z.string()),
  /** JSON Schema. */
  input_schema: json,
  permissions: z.object({
    hosts: z.array(z.string()),
    secrets: z.array(z.object({ name: z.string(), description: z.string(), is_set: z.boolean() })),
    storage: z.boolean(),
  }),
  /** Oldest first. */
  versions: z.array(
    z.object({
      version: z.number(),
      runtime: z.enum(['python', 'node']),
      hash: z.string(),
      build_id: z.string().nullable(),
      created_at: z.string(),
    }),
  ),
  statistics: z.object({
    calls: z.number(),
    failures: z.number(),
    /** Of the newest 200 calls. */
    median_ms: z.number().nullable(),
    last_called_at: z.string().nullable(),
    last_error: z.string().nullable(),
  }),
  /** The newest. */
  build: buildReplySchema.nullable(),
})
export type CapabilityReply = z.infer<typeof capabilityReplySchema>

export const capabilityRunRequestSchema = z.strictObject({
  args: z.record(z.string(), json).default({}),
  /** Absent: the one that serves. */
  version: versionSchema.optional(),
})
export type CapabilityRunRequest = z.input<typeof capabilityRunRequestSchema>

/** What it returned, without secrets and with its HTML rebuilt, and how it ran. */
export const capabilityRunReplySchema = z.object({
  ok: z.boolean(),
  value: json,
  text: z.string(),
  card: cardSchema.nullable(),
  error: z.string().nullable(),
  outcome: z.enum(['succeeded', 'failed', 'timed_out', 'service_failed', 'refused']),
  /** What it printed. */
  log: z.string(),
  refused_hosts: z.array(z.string()),
  duration_ms: z.number(),
  /** The sandbox that it ran in; null where it did not run. */
  driver: z.string().nullable(),
})
export type CapabilityRunReply = z.infer<typeof capabilityRunReplySchema>

export const capabilityRollbackRequestSchema = z.strictObject({
  /** Absent: the one before. */
  version: versionSchema.optional(),
})

const versionInQuery = z.coerce.number().int().min(1).max(1_000_000).optional()

export const capabilityDiffQuerySchema = z.strictObject({ from: versionInQuery, to: versionInQuery })
export const capabilityDiffReplySchema = z.object({
  from: z.number(),
  to: z.number(),
  /** Each as unified text; empty where they are the same. */
  files: z.array(z.object({ path: z.string(), kind: z.enum(['added', 'removed', 'changed']), text: z.string() })),
})
export type CapabilityDiffReply = z.infer<typeof capabilityDiffReplySchema>

export const capabilityFilesQuerySchema = z.strictObject({ version: versionInQuery })
export const capabilityFilesReplySchema = z.object({
  version: z.number(),
  /** In order of path; `text` is null of one that is no text. */
  files: z.array(z.object({ path: z.string(), bytes: z.number(), text: z.string().nullable() })),
})
export type CapabilityFilesReply = z.infer<typeof capabilityFilesReplySchema>

export const capabilityRepairRequestSchema = z.strictObject({
  /** What is wrong with it, in words; what failed last is known anyway. */
  problem: z.string().min(1).max(4_000).optional(),
})

export const capabilitySecretRequestSchema = z.strictObject({ value: z.string().min(1).max(16_384) })
/** Whether a build was waiting for it. */
export const capabilitySecretReplySchema = z.object({ was_awaited: z.boolean() })
export type CapabilitySecretReply = z.infer<typeof capabilitySecretReplySchema>

export const capabilityProposalsReplySchema = z.object({
  proposals: z.array(z.object({ name: z.string(), reason: z.string() })),
})
export type CapabilityProposalsReply = z.infer<typeof capabilityProposalsReplySchema>

/** For the command line of this machine alone (SEC-4). */

const directorySchema = z.string().min(1).max(4_096)

export const capabilityDirectoryRequestSchema = z.strictObject({ directory: directorySchema })
export const capabilityApproveRequestSchema = z.strictObject({
  /** The one whose permissions the owner has seen. */
  version: versionSchema,
})

export const registrationProgressSchema = z.object({ message: z.string() })
export type RegistrationProgress = z.infer<typeof registrationProgressSchema>

export const registrationReplySchema = z.object({
  ok: z.boolean(),
  /** Null where it was refused. */
  name: z.string().nullable(),
  version: z.number().nullable(),
  examples: z.array(z.object({ input: json, ok: z.boolean(), detail: z.string() })),
  problems: z.array(z.string()),
})
export type RegistrationReply = z.infer<typeof registrationReplySchema>

export const capabilityExportReplySchema = z.object({ directory: z.string(), files: z.array(z.string()) })
export type CapabilityExportReply = z.infer<typeof capabilityExportReplySchema>
