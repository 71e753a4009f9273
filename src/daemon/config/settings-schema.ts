import { z } from 'zod'
import { logLevels } from '../../base/logger.ts'
import { purposes } from '../../models/models.ts'
import { callbackSchema, telegramSchema, voiceSchema } from './channels-schema.ts'
import { memorySchema } from './memory-schema.ts'
import { sharedSchema } from './shared-schema.ts'
import { telemetrySchema } from './telemetry-schema.ts'
import { tiersSchema } from './tiers-schema.ts'
import {
  assetsSchema,
  capabilitiesSchema,
  mcpSchema,
  policySchema,
  sandboxSchema,
  skillsSchema,
  toolsSchema,
} from './tools-schema.ts'

/** What `familiar.toml` may hold, as it is written there. Strict throughout: a key that does nothing is a mistake. */

const contextTiers = ['full', 'operational'] as const
export type ContextTier = (typeof contextTiers)[number]

const slug = z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'must be a name of small letters, digits, - and _')
const modelId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]*\/[A-Za-z0-9][A-Za-z0-9._:-]*$/, 'must be written provider/model, such as "local/main"')
const route = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(modelId, 'must be a model such as "local/main", or a list of them').min(1, 'must name at least one model'),
)
const usd = z.number().nonnegative()
const count = z.int().positive()
const ratio = z.number().gt(0).lt(1)
// One folder, no way out of it: these are read into every prompt.
const workspaceFile = z
  .string()
  .regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*\.md$/, 'must be the name of a .md file in workspace/')
const host = z.string().regex(/^[A-Za-z0-9.:[\]_-]+$/, 'must be a host name or address')
const postgresUrl = z
  .string()
  .refine(
    (text) => /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text),
    'must be an address such as "postgres://user@host/database"',
  )
const hostAndPort = z
  .string()
  .regex(
    /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/,
    'must be a host, or a host and port such as "nas.local:8080"',
  )
const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'must be an origin such as "https://example.org"',
  )

const routes = Object.fromEntries(purposes.map((purpose) => [purpose, route.exactOptional()])) as Record<
  (typeof purposes)[number],
  z.ZodExactOptional<typeof route>
>

export const settingsSchema = z.strictObject({
  providers: z.strictObject({ load: z.array(slug).exactOptional() }).prefault({}),
  routes: z.strictObject({ ...routes, sources: z.record(slug, route).default({}) }).prefault({}),
  budget: z
    .strictObject({
      per_message_usd: usd.default(5),
      per_build_usd: usd.default(2),
      per_day_usd: usd.default(20),
      per_month_usd: usd.nullable().default(null),
    })
    .prefault({}),
  agent: z
    .strictObject({
      name: z.string().trim().min(1).max(60).default('Familiar'),
      max_rounds: count.max(1000).default(50),
      context: z
        .strictObject({
          tiers: z
            .strictObject({
              full: z
                .array(workspaceFile)
                .default(['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'MEMORY.md']),
              operational: z.array(workspaceFile).default(['SOUL.md', 'AGENTS.md', 'HEARTBEAT.md']),
            })
            .prefault({}),
          sources: z.record(slug, z.enum(contextTiers)).default({}),
        })
        .prefault({}),
    })
    .prefault({}),
  sessions: z
    .strictObject({
      debounce_ms: z.int().nonnegative().max(60_000).default(500),
      max_concurrent_turns: count.max(1000).default(8),
      max_queued_per_session: count.default(100),
      max_queued: count.default(10_000),
    })
    .prefault({}),
  subagents: z
    .strictObject({
      max_rounds: count.max(1000).default(50),
      /** For one conversation. */
      max_at_once: count.max(100).default(5),
    })
    .prefault({}),
  /** How long the client is waited for that shall run a tool. */
  client_tools: z.strictObject({ timeout_seconds: count.max(86_400).default(60) }).prefault({}),
  compaction: z
    .strictObject({
      threshold_tokens: z.int().min(1000).default(150_000),
      warn_ratio: ratio.default(0.8),
      keep_ratio: ratio.default(1 / 3),
    })
    .prefault({}),
  http: z
    .strictObject({
      port: z.int().min(0).max(65_535).default(8100),
      host: host.default('127.0.0.1'),
      allow_remote: z.boolean().default(false),
      allowed_hosts: z.array(host).default([]),
      allowed_origins: z.array(origin).default([]),
      /** How it is reached from elsewhere, for links that are sent out; this machine's own address where none is given. */
      public_url: origin.nullable().default(null),
      max_body_bytes: z
        .int()
        .min(1024)
        .default(2 * 1024 * 1024),
      max_attachment_bytes: z.int().min(1024).default(20_000_000),
      rate_limit_per_minute: count.default(600),
      failed_logins_per_minute: count.default(10),
      /** Event streams open at once: in all, and of one user. */
      max_streams: count.default(256),
      max_streams_per_user: count.default(64),
      /** Bytes of bodies that are being read at once. */
      max_bytes_in_flight: z
        .int()
        .min(1024)
        .default(256 * 1024 * 1024),
    })
    .prefault({}),
  /** Without a URL the database is a file of the home. */
  database: z
    .strictObject({ url: postgresUrl.nullable().default(null), pool_size: z.int().min(4).max(500).default(20) })
    .prefault({}),
  egress: z.strictObject({ allowed_hosts: z.array(hostAndPort).default([]) }).prefault({}),
  log: z.strictObject({ level: z.enum(logLevels).default('info') }).prefault({}),
  tools: toolsSchema,
  sandbox: sandboxSchema,
  capabilities: capabilitiesSchema,
  assets: assetsSchema,
  skills: skillsSchema,
  policy: policySchema,
  mcp: mcpSchema,
  memory: memorySchema,
  telegram: telegramSchema.exactOptional(),
  callback: callbackSchema.exactOptional(),
  voice: voiceSchema,
  telemetry: telemetrySchema,
  shared: sharedSchema,
  tiers: tiersSchema(route),
})

export type Settings = z.output<typeof settingsSchema>
