import { z } from 'zod'
import { logLevels } from '../../base/logger.ts'
import { embeddingProviders } from '../../memory/embedding/embedders.ts'
import { type Purpose, purposes } from '../../models/model.ts'
import { policyModes } from '../../protocol/permissions.ts'
import { ownerPlanName } from '../../security/users.ts'
import type { RenamedKey } from './toml.ts'
import {
  assetsSchema,
  baseUrl,
  capabilitiesSchema,
  choice,
  count,
  flag,
  hostOrigin,
  listOf,
  matching,
  mcpSchema,
  mistakeAt,
  optional,
  policySchema,
  sandboxSchema,
  skillsSchema,
  table,
  toolsSchema,
  variableName,
  whole,
} from './tools-schema.ts'

/** `[telegram]` of `familiar.toml`. Without the table there is no Telegram. */
const telegramSchema = z.strictObject({
  enabled: flag(true, 'Whether the bot runs.'),
  token_env: variableName.default('TELEGRAM_BOT_TOKEN').describe('Variable that holds the token of the bot.'),
  allowed_ids: listOf(count, 'Telegram user ids that are the owner. Everyone else has to pair with a code.'),
  api_root: baseUrl.default('https://api.telegram.org').describe('Address of the Bot API server.'),
  voice_replies: flag(true, 'Whether a voice message gets a voice message beside the text, if a voice is set up.'),
  repeat_unknown: flag(true, 'Whether a message that may or may not have arrived is sent again, marked as a repeat.'),
})

/** `[callback]` of `familiar.toml`: the program that is called after every processed message. */
const callbackSchema = z.strictObject({
  url: baseUrl.describe('Address that receives a signed POST after every turn.'),
  secret_env: variableName.describe('Variable that holds the secret for the signature.'),
  channels: listOf(
    matching(/^[a-z0-9][a-z0-9_-]*$/, 'must be the name of a channel'),
    'Channels to report. Empty means all of them.',
  ),
})

/** `[voice]` of `familiar.toml`. Speech output is set in `[tools.tts]`. */
const voiceSchema = table({
  transcription: z
    .strictObject({
      provider: choice(
        ['auto', 'local', 'openai-compatible', 'off'],
        'auto',
        'The transcriber of speech. auto uses the local model if `familiar voice install` installed it.',
      ),
      base_url: baseUrl.exactOptional().describe('Address of the server, for openai-compatible.'),
      api_key_env: variableName.exactOptional().describe('Variable that holds the key of the server.'),
      model: z
        .string()
        .min(1)
        .max(200)
        .exactOptional()
        .describe('Model name on the server, or the local model: whisper-tiny, whisper-base, whisper-small.'),
    })
    .refine(
      ({ provider, base_url, model }) =>
        provider !== 'openai-compatible' || (base_url !== undefined && model !== undefined),
      { path: ['base_url'], error: 'and model are required for provider "openai-compatible"' },
    )
    .prefault({}),
})

const embeddingTable = z.strictObject({
  provider: choice(
    embeddingProviders,
    'local',
    'The source of embeddings. local is a small English model on this machine.',
  ),
  model: z.string().min(1).exactOptional().describe('Model name on the server.'),
  base_url: baseUrl.exactOptional().describe('Address of the server.'),
  api_key_env: variableName.exactOptional().describe('Variable that holds the key of the server.'),
})

const idle = 'has no effect without a server: provider = "openai-compatible" or "ollama"'
const embeddingSchema = embeddingTable
  .refine(
    ({ provider, model }) => (provider !== 'openai-compatible' && provider !== 'ollama') || model !== undefined,
    mistakeAt('model', 'is required for a server'),
  )
  .refine(
    ({ provider, base_url }) => provider !== 'openai-compatible' || base_url !== undefined,
    mistakeAt('base_url', 'is required for provider "openai-compatible"'),
  )
  .refine(isUsed('model'), mistakeAt('model', idle))
  .refine(isUsed('base_url'), mistakeAt('base_url', idle))
  .refine(isUsed('api_key_env'), mistakeAt('api_key_env', idle))

const memorySchema = table({
  decay: choice(['time', 'cycles'], 'time', 'Whether memories fade with time or with the number of turns.'),
  conversations: flag(true, 'Whether conversations can be recalled later, line by line.'),
  extraction: flag(true, 'Whether a model extracts facts worth keeping from each exchange. Each costs one small call.'),
  embedding: embeddingSchema.prefault({}),
})

/** Not checked for an invalid provider. */
function isUsed(key: 'model' | 'base_url' | 'api_key_env') {
  return (embedding: z.output<typeof embeddingTable>) =>
    embedding[key] === undefined || (embedding.provider !== 'local' && embedding.provider !== 'off')
}

const s3Schema = z.strictObject({
  endpoint: baseUrl.describe('Address of the S3 server.'),
  region: matching(/^[a-z0-9-]+$/, 'must be a region such as "eu-central-1"')
    .default('us-east-1')
    .describe('Region of the bucket.'),
  bucket: matching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket').describe(
    'Name of the bucket.',
  ),
  prefix: z
    .string()
    // No part may be one that a URL parser removes.
    .regex(
      /^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/|$))*$/,
      'must be steps of letters, digits and _ . - such as "home/two"',
    )
    .default('')
    .describe('Prefix of every key, for a bucket with other contents.'),
  path_style: flag(
    false,
    'Put the bucket into the path instead of the host name. Most servers other than AWS need this.',
  ),
  access_key_env: variableName.default('AWS_ACCESS_KEY_ID').describe('Variable that holds the access key.'),
  secret_key_env: variableName.default('AWS_SECRET_ACCESS_KEY').describe('Variable that holds the secret key.'),
  session_token_env: variableName.exactOptional().describe('Variable that holds the session token.'),
  cache_megabytes: whole([0, 1_000_000], 1_024, 'Size of the local cache.'),
})

/** `[shared]` of `familiar.toml`: the place of media and capabilities when several daemons use one database. */
const sharedSchema = z
  .strictObject({
    directory: z
      .string()
      .startsWith('/', 'must be an absolute path, such as "/mnt/familiar"')
      .exactOptional()
      .describe('Directory that all daemons mount, for media, built tools and the key.'),
    s3: s3Schema.exactOptional(),
  })
  .refine(({ directory, s3 }) => directory === undefined || s3 === undefined, {
    path: ['directory'],
    error: 'and [shared.s3] cannot both be the shared place',
  })
  .prefault({})

/** `[telemetry]` of `familiar.toml`. Without an address nothing is sent. */
const telemetrySchema = table({
  endpoint: optional(baseUrl, 'OTLP collector over HTTP, such as http://127.0.0.1:4318. Nothing is sent without it.'),
  traces: flag(true, 'Whether traces are sent.'),
  metrics: flag(true, 'Whether metrics are sent.'),
  service_name: matching(/^[\w.-]{1,100}$/, 'must be a name of letters, digits and . _ -')
    .default('familiar')
    .describe('Service name in traces and metrics.'),
  metrics_interval_seconds: whole([1, 3_600], 60, 'Seconds between two reports of metrics.'),
})

const promptProfiles = ['full', 'operational'] as const

const slug = matching(/^[a-z0-9][a-z0-9_-]*$/, 'must be a name of lower-case letters, digits, - and _')
const modelId = matching(
  /^[a-z0-9][a-z0-9_-]*\/[A-Za-z0-9][A-Za-z0-9._:-]*$/,
  'must be written provider/model, such as "local/main"',
)
const route = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(modelId, 'must be a model such as "local/main", or a list of them').min(1, 'must name at least one model'),
)
const usd = z.number().nonnegative()
const ratio = z.number().gt(0).lt(1)
// Files directly in one folder: these are read into every prompt.
const workspaceFile = matching(/^[A-Za-z0-9_-][A-Za-z0-9._-]*\.md$/, 'must be the name of a .md file in workspace/')
const host = matching(/^[A-Za-z0-9.:[\]_-]+$/, 'must be a host name or address')
const postgresUrl = z
  .string()
  .refine(
    (text) => /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text),
    'must be an address such as "postgres://user@host/database"',
  )
const hostAndPort = matching(
  /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/,
  'must be a host, or a host and port such as "nas.local:8080"',
)

const purposeTexts: Record<Purpose, string> = {
  primary: 'Model that answers. A list names fallbacks.',
  fast: 'Model for small tasks, such as titles and extraction.',
  builder: 'Model that builds tools.',
  vision: 'Model for messages with pictures.',
  compaction: 'Model that summarizes long sessions.',
  subagent: 'Model of sub-agents.',
}

/** An optional route for each purpose. */
function routesWith(describe: (purpose: Purpose) => string) {
  const entries = purposes.map((purpose) => [purpose, route.exactOptional().describe(describe(purpose))])
  return Object.fromEntries(entries) as Record<Purpose, z.ZodExactOptional<typeof route>>
}

const planName = matching(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be a name of lower-case letters, digits, - and _').refine(
  (name) => name !== ownerPlanName,
  'is built in: the owner may use everything',
)
const pattern = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9_.:*-]+$/, 'must be the name of a tool, with * as a wildcard')

/**
 * `[plans.NAME]` of `familiar.toml`. Without `tools.allow` there are no tools; unset models and budgets use the
 * defaults.
 */
const planSchema = z.strictObject({
  tools: table({
    allow: listOf(pattern, 'Tools that users of this plan may call; * matches any letters.'),
    deny: listOf(pattern, 'Tools that they may not call, even if allow names them.'),
  }),
  routes: table(routesWith((purpose) => `As routes.${purpose}, for this plan.`)),
  budget: table({
    per_message_usd: usd.exactOptional().describe('Limit for one message.'),
    per_build_usd: usd.exactOptional().describe('Limit for one build of a tool.'),
    per_day_usd: usd.exactOptional().describe('Limit for one day.'),
    per_month_usd: usd.exactOptional().describe('Limit for one month.'),
  }),
  max_sessions: count.exactOptional().describe('How many sessions a user of this plan may have.'),
  mode: z
    .enum(policyModes)
    .exactOptional()
    .describe('As policy.mode, for this plan. Its users can choose a stricter one for a conversation.'),
})

/** The schema of `familiar.toml`. Strict throughout: an unknown key is a mistake. */
export const settingsSchema = z.strictObject({
  providers: table({
    load: z.array(slug).exactOptional().describe('Provider files to load from providers.d. Default: all.'),
  }),
  routes: table({
    ...routesWith((purpose) => purposeTexts[purpose]),
    image: route.exactOptional().describe('Model that makes pictures. Without one generate_image is refused.'),
    sources: z.record(slug, route).default({}).describe('Routes by source of the message, such as telegram.'),
  }),
  budget: table({
    per_message_usd: usd.default(5).describe('Spending limit for one message.'),
    per_build_usd: usd.default(2).describe('Spending limit for one build of a tool.'),
    per_day_usd: usd.default(20).describe('Spending limit for one day.'),
    per_month_usd: usd.nullable().default(null).describe('Spending limit for one month.'),
  }),
  agent: table({
    name: z.string().trim().min(1).max(60).default('Familiar').describe('Name of the agent.'),
    max_rounds: count.max(1000).default(50).describe('Limit of model calls in one turn.'),
    context: table({
      profiles: table({
        full: z
          .array(workspaceFile)
          .default(['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'MEMORY.md'])
          .describe('Workspace files in the full prompt.'),
        operational: z
          .array(workspaceFile)
          .default(['SOUL.md', 'AGENTS.md', 'HEARTBEAT.md'])
          .describe('Workspace files in the short prompt of automated messages.'),
      }),
      sources: z.record(slug, z.enum(promptProfiles)).default({}).describe('Prompt profile by source of the message.'),
    }),
  }),
  sessions: table({
    debounce_ms: whole([0, 60_000], 500, 'Messages that arrive within this time are answered together.'),
    max_concurrent_turns: count.max(1000).default(8).describe('Limit of turns that run at once.'),
    max_queued_per_session: count.default(100).describe('Limit of waiting messages in one session.'),
    max_queued: count.default(10_000).describe('Limit of waiting messages in all.'),
  }),
  subagents: table({
    max_rounds: count.max(1000).default(50).describe('Limit of model calls of one sub-agent.'),
    max_at_once: count.max(100).default(5).describe('Limit of sub-agents that run at once for one session.'),
  }),
  client_tools: table({
    timeout_seconds: count.max(86_400).default(60).describe('How long a turn waits for the result of a client tool.'),
  }),
  compaction: table({
    threshold_tokens: z.int().min(1000).default(150_000).describe('Size of the history that triggers compaction.'),
    warn_ratio: ratio.default(0.8).describe('Share of the threshold at which the model is warned.'),
    keep_ratio: ratio.default(1 / 3).describe('Share of the history that stays word for word.'),
  }),
  http: table({
    port: whole([0, 65_535], 8100, 'Port of the page and the API.'),
    host: host.default('127.0.0.1').describe('Address to listen on.'),
    allow_remote: flag(false, 'Whether `host` may be an address that other machines reach. Needs FAMILIAR_TOKEN.'),
    allowed_hosts: listOf(host, 'More host names that requests may use.'),
    allowed_origins: listOf(hostOrigin, 'Web pages that may call the API from a browser.'),
    public_url: hostOrigin.nullable().default(null).describe('Address for links that are sent out.'),
    max_body_bytes: z
      .int()
      .min(1024)
      .default(2 * 1024 * 1024)
      .describe('Size limit of a request body.'),
    max_attachment_bytes: z.int().min(1024).default(20_000_000).describe('Size limit of one attachment.'),
    rate_limit_per_minute: count.default(600).describe('Requests per minute from one address or token.'),
    failed_logins_per_minute: count.default(10).describe('Wrong tokens per minute from one address.'),
    max_streams: count.default(256).describe('Limit of open event streams.'),
    max_streams_per_user: count.default(64).describe('Limit of open event streams per user.'),
    max_bytes_in_flight: z
      .int()
      .min(1024)
      .default(256 * 1024 * 1024)
      .describe('Total size of the request bodies that are read at once.'),
  }),
  database: table({
    url: postgresUrl
      .nullable()
      .default(null)
      .describe('PostgreSQL address. Without one the database is a SQLite file.'),
    pool_size: whole([4, 500], 20, 'Limit of connections to PostgreSQL.'),
  }),
  egress: table({
    allowed_hosts: listOf(hostAndPort, 'Private hosts that Familiar may reach, such as nas.local:8080.'),
  }),
  log: table({ level: choice(logLevels, 'info', 'Lowest level that is logged.') }),
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
  plans: z.record(planName, planSchema).default({}),
})

/** Keys of earlier versions. */
export const renamedKeys: readonly RenamedKey[] = [
  { old: ['tiers'], now: ['plans'] },
  { old: ['agent', 'context', 'tiers'], now: ['agent', 'context', 'profiles'] },
]

export type Settings = z.output<typeof settingsSchema>
