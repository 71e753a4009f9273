import type { Generated } from 'kysely'
import type { SnakeKeys } from '../protocol/operation.ts'
import type { PolicyMode } from '../protocol/permissions.ts'
import type { TriggerRun } from '../protocol/tools.ts'
import type { CapabilityTables, ChannelTables, PageTables, WithDefaults, WorkspaceTables } from './feature-tables.ts'

/** Times are milliseconds since the epoch, money is whole nano-dollars, `data` columns hold JSON text. */
export interface Tables extends CapabilityTables, ChannelTables, PageTables, WorkspaceTables {
  users: WithDefaults<UserRow, 'tier'>
  access_tokens: AccessTokenRow
  sessions: WithDefaults<SessionRow, 'agent' | 'remembered' | 'deleted_at' | 'deleted_from' | 'searched_seq'>
  session_events: SessionEventRow
  session_snapshots: SessionSnapshotRow
  inbox: InboxRow
  media: {
    hash: string
    media_type: string
    bytes: number
    created_at: number
  }
  cost_ledger: CostLedgerRow
  cost_totals: CostTotalRow
  memories: WithDefaults<MemoryRow, 'number'>
  facts: FactRow
  episodes: EpisodeRow
  commitments: CommitmentRow
  memory_files: MemoryFileRow
  chunks: {
    id: string
    user_id: string
    file_id: string
    first_line: number
    last_line: number
  }
  entity_aliases: EntityAliasRow
  fact_attributes: {
    user_id: string
    attribute_key: string
    is_multi_valued: 0 | 1
  }
  memory_edges: MemoryEdgeRow
  /**
   * The vectors of memories in the format of `toVectorBytes`; at most one per memory, model and passage. Replaced by
   * deleting and inserting: updates are rejected, because caches of vectors would not notice them.
   */
  memory_vectors: {
    number: number
    user_id: string
    model: string
    /** Hash of the embedded text: the same text is not embedded twice. */
    text_hash: string
    vector: Uint8Array
    /** The passage of a long text, starting at 0. */
    part: Generated<number>
    /** Grows with every vector that is written, and is never reused. */
    place: Generated<number>
  }
  /** The tags of memories, for searching; the memory itself holds them in order. */
  memory_tags: {
    user_id: string
    tag: string
    number: number
  }
  memory_changes: MemoryChangeRow
  /** Progress of a background task: a position in a session's log, the hash of a file, a count of recalls. */
  memory_marks: {
    user_id: string
    name: string
    value: string
    updated_at: number
  }
  tool_weights: ToolWeightRow
  /** Names of people who speak in a user's conversations. */
  memory_speakers: {
    user_id: string
    name: string
  }
  tool_states: ToolStateRow
  /** A user's settings for a tool; its secrets are in `secrets`. */
  tool_settings: {
    user_id: string
    tool: string
    key: string
    /** JSON. */
    value: string
    updated_at: number
  }
  /** The vector of a tool's description: embedded again only when the text changes. */
  tool_vectors: {
    tool: string
    model: string
    text_hash: string
    vector: Uint8Array
  }
  /** Data that the user's latest client sent about itself, with permission, kept for an hour. */
  client_telemetry: {
    user_id: string
    data: string
    at: number
  }
  secrets: SecretRow
  tool_calls: ToolCallRow
  approvals: ApprovalRow
  grants: GrantRow
  trigger_runs: TriggerRunRow
  webhook_nonces: {
    tool: string
    nonce: string
    at: number
  }
  daemons: {
    id: string
    role: 'api' | 'worker' | 'all'
    /** The advisory lock that it holds while it lives. */
    lock_key: number
    /** JSON: the names under which it takes jobs. */
    workers: string
    started_at: number
  }
  session_holders: {
    session_id: string
    daemon_id: string
  }
}

export interface UserRow {
  id: string
  name: string
  role: 'owner' | 'user'
  /** The plan, by its name in the config. */
  tier: string
  created_at: number
}

export interface AccessTokenRow {
  id: string
  user_id: string
  /** sha256 of the token; the token itself is not stored. */
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
  last_seq: number
  /** The input size of the newest request, as counted by its provider. Zero before the first. */
  last_input_tokens: number
  /** Selects the pins: `main`, or its own id for a fork. */
  agent: string
  /** The model that the user chose for it; null lets the routes decide. */
  model: string | null
  /** How often its user wants to be asked; null: as configured. */
  mode: PolicyMode | null
  /** 0 for a private conversation: nothing is learned from it. */
  remembered: number
  /** Set while it can still be restored; its state is then `archived`. */
  deleted_at: number | null
  /** The state before it was deleted. */
  deleted_from: 'active' | 'archived' | null
  /** The newest event whose text is in the index of messages. */
  searched_seq: number
  created_at: number
  updated_at: number
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
  /** The sender's id for the message: unique per user, so that a repeated delivery makes one turn. */
  key: string
  body_hash: string
  state: 'queued' | 'running' | 'done'
  turn_id: string | null
  received_at: number
  data: string
}

export interface CostLedgerRow {
  id: string
  user_id: string
  session_id: string | null
  turn_id: string | null
  purpose: string
  model: string
  /** `estimated`: settled without a count from the provider. */
  state: 'reserved' | 'settled' | 'estimated' | 'interrupted' | 'failed'
  at: number
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  /** Reserved before the call. Zero for an unpriced model. */
  reserved_nanousd: number
  /** Null for an unpriced model: never shown as free. */
  cost_nanousd: number | null
}

/** Running sums per user and period, so that a budget is checked without reading the ledger. */
export interface CostTotalRow {
  user_id: string
  /** `day:2026-11-15` or `month:2026-11`. */
  period: string
  spent_nanousd: number
  reserved_nanousd: number
}

/** The columns of every memory. Details of a kind are in that kind's table under the same id. */
export interface MemoryRow {
  /** Grows with every memory and is never reused: the key of its vectors. */
  number: number
  id: string
  user_id: string
  kind: 'note' | 'fact' | 'episode' | 'commitment' | 'chunk'
  /** The text that is searched, shown and cited. */
  content: string
  content_hash: string
  title: string | null
  category: string | null
  /** JSON array of strings. */
  tags: string
  tier: 'short_term' | 'long_term'
  /** As written; decay is computed when it is read. */
  priority: number
  source: 'user' | 'agent' | 'extracted' | 'tool' | 'import'
  label: 'owner' | 'internal' | 'untrusted'
  session_id: string | null
  turn_id: string | null
  /** The session segment or file that it is part of, and its position there: neighbors are adjacent. */
  thread_id: string | null
  position: number | null
  /** The number of passages that the text was split into; 1 for a whole text. */
  passages: number
  /** The speaker: a person's name, `user` or `assistant`. */
  speaker: string | null
  /** The days that it refers to, if any: relative dates are resolved when it is written. */
  happened_from: number | null
  happened_until: number | null
  /** A wish that stays valid until it is withdrawn. */
  is_standing: 0 | 1
  created_at: number
  updated_at: number
  used_at: number
  use_count: number
  /** The user's cycle count when its priority was written; the `cycles` policy starts from it. */
  cycle: number
  /** Set when something newer replaced it: it is history and no longer offered as true. */
  superseded_at: number | null
  superseded_by: string | null
}

/** Keys are the folded form of the adjacent column, for comparing. */
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
  /** Null for a fact that is still true. */
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
  /** The debtor (`user` or a person's name) and the creditor, if known. */
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

export interface EntityAliasRow {
  user_id: string
  alias_key: string
  alias: string
  entity_key: string
  entity: string
}

export interface MemoryEdgeRow {
  user_id: string
  source_id: string
  target_id: string
  relation: string
  weight: number
  created_at: number
}

/** The previous state of a changed or forgotten memory, while it can be undone. */
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

/** The decayed sum of the outcomes of a tool's calls, as of `updated_at`. */
export interface ToolWeightRow {
  user_id: string
  /** A folded word of the user's request; empty for all topics together. */
  topic: string
  tool: string
  /** -1 to 1. */
  weight: number
  calls: number
  updated_at: number
}

/** The owner's decisions about a custom or MCP tool: one row per home, for all its users. */
export interface ToolStateRow {
  name: string
  is_enabled: 0 | 1
  /** The fingerprint that the owner approved; null if it needed no approval. */
  fingerprint: string | null
  /** JSON array: hosts that the owner allows in addition to the declared ones. */
  hosts: string
  /** JSON that the tool asked to receive at its next run. */
  state: string | null
  updated_at: number
}

export interface SecretRow {
  user_id: string
  /** `tool:weather`, `mcp:calendar`. */
  owner: string
  name: string
  /** The key that it is sealed with. */
  key_id: string
  /** Base64 of nonce, ciphertext and tag. */
  sealed: string
  updated_at: number
}

/** The audit trail: one row per tool call, whatever the caller. */
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
  /** The sandbox it ran in, if any. */
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
  /** HMAC over everything that the approval covers. */
  seal: string
  asked_at: number
  expires_at: number
  answered_at: number | null
  /** The channel that the answer came from. */
  answered_from: string | null
  /** Null in rows of older versions, as is `grants`. */
  effect: string | null
  /** JSON: the destinations that a lasting grant of the call names. */
  grants: string | null
  /** The language of the question. Null: English. */
  language: string | null
}

export interface GrantRow {
  id: string
  user_id: string
  /** The name of a tool. */
  subject: string
  effect: string
  destination: string
  /** Null: in every conversation. */
  session_id: string | null
  given_at: number
  given_from: string
  expires_at: number | null
  /** HMAC over everything that the grant covers. */
  seal: string
}

export interface TriggerRunRow extends Omit<SnakeKeys<TriggerRun>, 'is_late'> {
  /** The body of a webhook, until its run starts. */
  input: string | null
}
