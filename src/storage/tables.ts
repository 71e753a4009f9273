import type { Generated } from 'kysely'
import type { CapabilityTables } from './capability-tables.ts'
import type { ChannelTables } from './channel-tables.ts'
import type { FleetTables } from './fleet-tables.ts'
import type { PageTables } from './page-tables.ts'
import type { WorkspaceTables } from './workspace-tables.ts'

/** Times are milliseconds since the epoch, money is whole nano-dollars, `data` columns hold JSON text. */
export interface Tables extends CapabilityTables, ChannelTables, FleetTables, PageTables, WorkspaceTables {
  users: UserTable
  access_tokens: AccessTokenRow
  sessions: SessionTable
  session_events: SessionEventRow
  session_snapshots: SessionSnapshotRow
  inbox: InboxRow
  media: MediaRow
  cost_ledger: CostLedgerRow
  cost_totals: CostTotalRow
  memories: MemoryTable
  facts: FactRow
  episodes: EpisodeRow
  commitments: CommitmentRow
  memory_files: MemoryFileRow
  chunks: ChunkRow
  entity_aliases: EntityAliasRow
  fact_attributes: FactAttributeRow
  memory_edges: MemoryEdgeRow
  memory_vectors: MemoryVectorTable
  memory_changes: MemoryChangeRow
  memory_marks: MemoryMarkRow
  tool_weights: ToolWeightRow
  memory_speakers: MemorySpeakerRow
  tool_states: ToolStateRow
  tool_settings: ToolSettingRow
  tool_vectors: ToolVectorRow
  client_telemetry: ClientTelemetryRow
  secrets: SecretRow
  tool_calls: ToolCallRow
  approvals: ApprovalRow
  trigger_runs: TriggerRunRow
  webhook_nonces: WebhookNonceRow
}

export interface UserRow {
  id: string
  name: string
  role: 'owner' | 'user'
  /** What they may use and spend, as the config has it under that name. */
  tier: string
  created_at: number
}
interface UserTable extends Omit<UserRow, 'tier'> {
  tier: Generated<string>
}

export interface AccessTokenRow {
  id: string
  user_id: string
  /** sha256 of the token; the token itself is stored nowhere. */
  token_hash: string
  scope: 'owner' | 'chat' | 'read'
  created_at: number
  revoked_at: number | null
}

export interface SessionRow {
  id: string
  user_id: string
  channel: string
  contact: string
  state: 'active' | 'archived'
  /** The seq of the newest event; appending takes the next one. */
  last_seq: number
  /** What the newest request held, as its provider counted it. Zero before the first. */
  last_input_tokens: number
  /** Whose pins it has: `main`, or its own id where it is a fork. */
  agent: string
  /** The model that the user has chosen for it; null where the routes decide. */
  model: string | null
  created_at: number
  updated_at: number
}
interface SessionTable extends Omit<SessionRow, 'agent'> {
  agent: Generated<string>
}

export interface SessionEventRow {
  session_id: string
  seq: number
  type: string
  turn_id: string | null
  at: number
  data: string
}

export interface SessionSnapshotRow {
  session_id: string
  seq: number
  hash: string
  data: string
}

export interface InboxRow {
  id: string
  user_id: string
  session_id: string
  /** The sender's own id of the message: unique per user, so that a repeated delivery makes one turn. */
  key: string
  body_hash: string
  state: 'queued' | 'running' | 'done'
  turn_id: string | null
  received_at: number
  data: string
}

interface MediaRow {
  hash: string
  media_type: string
  bytes: number
  created_at: number
}

export interface CostLedgerRow {
  id: string
  user_id: string
  session_id: string | null
  turn_id: string | null
  purpose: string
  model: string
  state: 'reserved' | 'settled' | 'interrupted' | 'failed'
  at: number
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  /** What was set aside before the call. Zero for an unpriced model. */
  reserved_nanousd: number
  /** Null for an unpriced model: never shown as free. */
  cost_nanousd: number | null
}

/** Running sums per user and period, so that a cap is checked without reading the ledger. */
export interface CostTotalRow {
  user_id: string
  /** `day:2026-11-15` or `month:2026-11`. */
  period: string
  spent_nanousd: number
  reserved_nanousd: number
}

/** What every memory has, whatever its kind. Details of a kind lie in that kind's own table under the same id. */
export interface MemoryRow {
  /** Grows with every memory and is never given twice: what the vectors are filed under. */
  number: number
  id: string
  user_id: string
  kind: 'note' | 'fact' | 'episode' | 'commitment' | 'chunk'
  /** What is searched, shown and cited, as one text. */
  content: string
  content_hash: string
  title: string | null
  category: string | null
  /** JSON array of strings. */
  tags: string
  tier: 'short_term' | 'long_term'
  /** As written; what it has faded to is computed when it is read. */
  priority: number
  source: 'user' | 'agent' | 'extracted' | 'tool' | 'import'
  label: 'owner' | 'internal' | 'untrusted'
  session_id: string | null
  turn_id: string | null
  /** The sitting of a conversation, or the file, that it is part of, and its place in there: neighbours are adjacent. */
  thread_id: string | null
  position: number | null
  /** How many passages the text was cut into that it is one of; 1 for a whole text. */
  passages: number
  /** Who said it, where it was said: a person's name, `user` or `assistant`. */
  speaker: string | null
  /** The days that it speaks of, where it names any: relative ones resolved when it was written. */
  happened_from: number | null
  happened_until: number | null
  /** A wish that holds until it is taken back. */
  is_standing: 0 | 1
  created_at: number
  updated_at: number
  used_at: number
  use_count: number
  /** The user's count of cycles when its priority was written: what the `cycles` policy counts from. */
  cycle: number
  /** Set where something newer took its place: it is history and is not offered as true. */
  superseded_at: number | null
  superseded_by: string | null
}

interface MemoryTable extends Omit<MemoryRow, 'number'> {
  number: Generated<number>
}

/** Keys are the folded form of what stands beside them, for comparing. */
export interface FactRow {
  id: string
  user_id: string
  entity: string
  entity_key: string
  attribute: string
  attribute_key: string
  value: string
  value_key: string
  confidence: number
  valid_from: number
  /** Null for what is true now. */
  valid_to: number | null
}

export interface EpisodeRow {
  id: string
  user_id: string
  /** JSON arrays of strings. */
  topics: string
  decisions: string
  tone: string | null
  started_at: number
  ended_at: number
}

export interface CommitmentRow {
  id: string
  user_id: string
  /** Who owes it: `user` or a person's name; and to whom, where that is known. */
  who: string
  who_key: string
  to_whom: string | null
  to_whom_key: string | null
  what: string
  what_key: string
  deadline: number | null
  state: 'open' | 'done' | 'expired' | 'cancelled'
  closed_at: number | null
}

export interface MemoryFileRow {
  id: string
  user_id: string
  /** The folder or file that the user asked to index. */
  root: string
  path: string
  content_hash: string
  bytes: number
  modified_at: number
  indexed_at: number
}

interface ChunkRow {
  id: string
  user_id: string
  file_id: string
  first_line: number
  last_line: number
}

export interface EntityAliasRow {
  user_id: string
  alias_key: string
  alias: string
  entity_key: string
  entity: string
}

interface FactAttributeRow {
  user_id: string
  attribute_key: string
  is_multi_valued: 0 | 1
}

export interface MemoryEdgeRow {
  user_id: string
  source_id: string
  target_id: string
  relation: string
  weight: number
  created_at: number
}

/**
 * The vectors of memories, as `vector-bytes.ts` writes them; at most one for a memory and a model. Replaced by deleting
 * and inserting: an update is refused, because those who keep vectors in memory would not see it.
 */
interface MemoryVectorRow {
  number: number
  user_id: string
  model: string
  /** Of the text that was embedded: the same text is not embedded twice. */
  text_hash: string
  vector: Uint8Array
}

interface MemoryVectorTable extends MemoryVectorRow {
  /** Grows with every vector that is written, and is never given twice. */
  place: Generated<number>
}

/** What was changed or forgotten, as it was before, for as long as it can be undone. */
export interface MemoryChangeRow {
  id: string
  user_id: string
  memory_id: string
  action: 'edited' | 'forgotten'
  made_by: 'user' | 'agent'
  at: number
  undo_until: number
  data: string
}

/** How far a background task has come: a place in a session's log, the hash of a file, a count of recalls. */
interface MemoryMarkRow {
  user_id: string
  name: string
  value: string
  updated_at: number
}

/** Who speaks in a user's conversations, by name. */
interface MemorySpeakerRow {
  user_id: string
  name: string
}

/** What the outcomes of a tool's calls add up to, faded up to `updated_at`. */
export interface ToolWeightRow {
  user_id: string
  /** A word of what the user asked, folded; empty for all topics together. */
  topic: string
  tool: string
  /** -1 to 1. */
  weight: number
  calls: number
  updated_at: number
}

/** What the owner has decided about a tool of a folder or a server: one of this home, for all its users. */
export interface ToolStateRow {
  name: string
  is_enabled: 0 | 1
  /** What it was when the owner approved it; null where it needed no word. */
  fingerprint: string | null
  /** JSON array: the hosts that the owner lets it reach, beside those that it declares. */
  hosts: string
  /** JSON that the tool asked to be given at its next run. */
  state: string | null
  updated_at: number
}

/** What a user has set for a tool; its secrets lie in `secrets`. */
interface ToolSettingRow {
  user_id: string
  tool: string
  key: string
  /** JSON. */
  value: string
  updated_at: number
}

/** What a tool is for, as a vector: not embedded again while its text is the same. */
interface ToolVectorRow {
  tool: string
  model: string
  text_hash: string
  vector: Uint8Array
}

/** What the client that the user spoke through last told of itself, by consent and for an hour. */
interface ClientTelemetryRow {
  user_id: string
  data: string
  at: number
}

export interface SecretRow {
  user_id: string
  /** `tool:weather`, `mcp:calendar`. */
  owner: string
  name: string
  /** Which key it is sealed with. */
  key_id: string
  /** Base64 of nonce, ciphertext and tag. */
  sealed: string
  updated_at: number
}

/** The audit trail: one row for each call of a tool, whoever called. */
export interface ToolCallRow {
  id: string
  user_id: string
  tool: string
  caller: 'turn' | 'user' | 'cron' | 'webhook'
  session_id: string | null
  turn_id: string | null
  call_id: string | null
  topic: string
  outcome: 'succeeded' | 'failed' | 'timed_out' | 'service_failed' | 'refused'
  at: number
  duration_ms: number
  budget_remaining: number | null
  /** The sandbox that it ran in, where it ran in one. */
  driver: string | null
  error: string | null
}

export interface ApprovalRow {
  id: string
  user_id: string
  session_id: string
  turn_id: string
  call_id: string
  tool: string
  /** Canonical JSON. */
  arguments: string
  destination: string | null
  reason: string
  state: 'asked' | 'granted' | 'denied' | 'used'
  /** HMAC over all that the word is given for. */
  seal: string
  asked_at: number
  expires_at: number
  answered_at: number | null
  /** The channel that the word came through. */
  answered_from: string | null
}

export interface TriggerRunRow {
  id: string
  tool: string
  kind: 'cron' | 'webhook'
  due_at: number
  started_at: number | null
  finished_at: number | null
  /** `scheduled`: it waits for its time (one for each cron tool), or for its turn. */
  state: 'scheduled' | 'running' | 'done' | 'failed' | 'missed'
  error: string | null
  /** What came with a webhook, until its run begins. */
  input: string | null
}

interface WebhookNonceRow {
  tool: string
  nonce: string
  at: number
}
