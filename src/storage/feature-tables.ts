import type { Generated } from 'kysely'
import type { SnakeKeys } from '../protocol/operation.ts'
import type { Schedule, ScheduleRun } from '../protocol/schedules.ts'

/** A row whose named columns may be left out when it is inserted. */
export type WithDefaults<Row, Name extends keyof Row> = Omit<Row, Name> & { [Key in Name]: Generated<Row[Key]> }

/** Tables that the user and the agent both work with: blocks, pins, schedules, sub-agents, client tools. */
export interface WorkspaceTables {
  blocks: WithDefaults<BlockRow, 'is_deleted'>
  asset_versions: AssetVersionRow
  /** By the hash of their content, wherever a copy lies. */
  untrusted_files: { user_id: string; hash: string; at: number }
  pins: {
    user_id: string
    /** `main`, or the session of a fork. */
    agent: string
    label: string
    position: number
    pinned_at: number
  }
  schedules: ScheduleRow
  schedule_runs: ScheduleRunRow
  spawns: SpawnRow
  client_calls: WithDefaults<ClientCallRow, 'is_error'>
}

/** The origin of content: untrusted content is quoted as data everywhere. */
type Trust = 'owner' | 'internal' | 'untrusted'

export interface BlockRow {
  user_id: string
  /** `notes/x.md`: the part after `familiar:///blocks/`. */
  label: string
  content: string
  tokens: number
  version: number
  is_deleted: 0 | 1
  trust: Trust
  created_at: number
  updated_at: number
}

export interface AssetVersionRow {
  user_id: string
  uri: string
  version: number
  /** Null: it did not exist. */
  content: string | null
  tokens: number
  author: 'user' | 'agent'
  trust: Trust
  at: number
}

export type ScheduleRow = Omit<SnakeKeys<Schedule>, 'session'> & { contact: string; updated_at: number }

export type ScheduleRunRow = SnakeKeys<ScheduleRun> & { schedule_id: string }

export interface SpawnRow {
  id: string
  user_id: string
  parent_session_id: string
  parent_turn_id: string
  /** Lets a call that is repeated after a restart find its sub-agent. */
  call_id: string
  depth: number
  request: string
  state: 'running' | 'done' | 'failed' | 'stopped'
  result: string | null
  created_at: number
  ended_at: number | null
}

export interface ClientCallRow {
  session_id: string
  call_id: string
  user_id: string
  turn_id: string
  name: string
  arguments: string
  state: 'asked' | 'answered' | 'expired'
  result: string | null
  is_error: 0 | 1
  asked_at: number
  expires_at: number
}

/** The tools that Familiar builds itself (CAP): their versions, storage and build history. */
export interface CapabilityTables {
  capabilities: WithDefaults<CapabilityRow, 'calls' | 'failures'>
  capability_versions: CapabilityVersionRow
  capability_storage: {
    capability_id: string
    key: string
    value: string
    updated_at: number
  }
  capability_vectors: {
    capability_id: string
    model: string
    text_hash: string
    /** Two vectors in sequence: of its description, and of the description together with example requests. */
    vector: Uint8Array
  }
  builds: WithDefaults<BuildRow, 'is_told'>
  build_events: BuildEventRow
  build_questions: BuildQuestionRow
  build_files: {
    build_id: string
    path: string
    content: string
  }
}

export interface CapabilityRow {
  id: string
  user_id: string
  name: string
  description: string
  state: 'building' | 'active' | 'failed' | 'disabled'
  origin: 'built' | 'written' | 'imported'
  /** The active version; null before the first. */
  version: number | null
  input_schema: string
  tags: string
  /** Hosts, secrets and storage that the version declares. */
  permissions: string
  /** The reason for `failed` and `disabled`. */
  problem: string | null
  calls: number
  failures: number
  last_called_at: number | null
  last_error: string | null
  /** The arguments of the newest failed call: the example that a repair must pass. */
  failing_input: string | null
  created_at: number
  updated_at: number
}

export interface CapabilityVersionRow {
  capability_id: string
  version: number
  manifest: string
  /** Over every path and byte of its directory. */
  hash: string
  build_id: string | null
  created_at: number
}

export interface BuildRow {
  id: string
  user_id: string
  capability_id: string
  kind: 'build' | 'repair'
  state: 'running' | 'complete' | 'failed' | 'stopped'
  /** The request as the user made it. */
  request: string
  /** The session that requested it; null if no session did. */
  session_id: string | null
  call_id: string | null
  error: string | null
  /** Whether the result was reported in the conversation that requested it. */
  is_told: 0 | 1
  created_at: number
  updated_at: number
  ended_at: number | null
}

export interface BuildEventRow {
  build_id: string
  seq: number
  type: 'progress' | 'question' | 'answer' | 'secret_request' | 'complete' | 'error'
  data: string
  at: number
}

export interface BuildQuestionRow {
  /** The id of the call that asks: a call repeated after a restart finds its question. */
  id: string
  build_id: string
  kind: 'question' | 'secret'
  question: string
  /** With `secret`: the name under which it is stored. */
  secret: string | null
  state: 'asked' | 'answered' | 'expired'
  /** Never the value of a secret. */
  answer: string | null
  asked_at: number
  expires_at: number
}

/** Outgoing and incoming traffic of channels: the outbox, contacts, one-time links. */
export interface ChannelTables {
  outbox: OutboxRow
  /** How far a session's log has been copied to a channel's outbox. */
  delivery_cursors: {
    channel: string
    session_id: string
    seq: number
  }
  /** State of a channel: its read position, and since when it is in use. */
  channel_marks: {
    channel: string
    name: string
    value: string
    updated_at: number
  }
  /** Maps an outside address to a user. */
  channel_contacts: {
    channel: string
    /** The channel's number for the person. */
    address: string
    user_id: string
    /** The name that the person chose there: for display only, never trusted. */
    name: string
    paired_at: number
  }
  /** A single-use code with a short life: the sender becomes a contact of the user who made it. */
  pairing_codes: {
    id: string
    channel: string
    user_id: string
    code_hash: string
    created_at: number
    expires_at: number
    used_at: number | null
  }
  one_time_links: OneTimeLinkRow
}

/** A message to send, and its delivery state. */
export interface OutboxRow {
  id: string
  user_id: string
  /** The sender: `telegram`, `callback`. */
  channel: string
  /** The recipient, in the channel's own format. Messages to one address are sent in order. */
  address: string
  /** Identifies the content; unique in its channel, so the same item is queued once. */
  key: string
  /** JSON, in the format of the channel's sender. */
  payload: string
  state: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'cancelled'
  attempts: number
  /** Earliest time of the next attempt; null once there are no more attempts. */
  next_at: number | null
  error: string | null
  /** The id that the other side gave it. */
  external_id: string | null
  session_id: string | null
  /** The item of unknown outcome that this one repeats. */
  repeats: string | null
  created_at: number
  updated_at: number
}

/** A link that does one thing, once, for a short time. */
export interface OneTimeLinkRow {
  id: string
  user_id: string
  /** sha256 of the token in the link. */
  token_hash: string
  purpose: 'secret' | 'sign_in'
  /** With `secret`: the question that it answers. */
  subject: string
  created_at: number
  expires_at: number
  used_at: number | null
}

/** State of the page: signed-in browsers, session titles, read positions. */
export interface PageTables {
  browsers: BrowserRow
  session_views: {
    session_id: string
    /** The title that the user chose; null shows the generated one or the first message. */
    title: string | null
    /** The newest event that was shown. */
    read_seq: number
    /** By the fast model, from the first answer. */
    generated_title: Generated<string | null>
    /** 1: kept at the top of the list. */
    pinned: Generated<number>
    folder_id: Generated<string | null>
  }
  /** Folders of conversations. A conversation is in one of them or in none. */
  session_folders: {
    id: string
    user_id: string
    name: string
    created_at: number
  }
}

export interface BrowserRow {
  id: string
  user_id: string
  /** sha256 of the cookie's value and of the page's token; neither value is stored, and a request needs both. */
  cookie_hash: string
  page_hash: string
  /** The name that the browser sent: for display only, never trusted. */
  name: string
  created_at: number
  seen_at: number
  expires_at: number
}
