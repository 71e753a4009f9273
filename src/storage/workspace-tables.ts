import type { Generated } from 'kysely'

/** What the user and the agent keep and plan together: blocks, pins, schedules, sub-agents, tools of clients. */
export interface WorkspaceTables {
  blocks: BlockTable
  asset_versions: AssetVersionRow
  pins: PinRow
  schedules: ScheduleRow
  schedule_runs: ScheduleRunRow
  spawns: SpawnRow
  client_calls: ClientCallTable
}

/** Whose words something is: what is untrusted is quoted as data wherever it goes. */
type Trust = 'owner' | 'internal' | 'untrusted'

export interface BlockRow {
  user_id: string
  /** `notes/x.md`: what stands behind `familiar:///blocks/`. */
  label: string
  content: string
  tokens: number
  version: number
  is_deleted: 0 | 1
  trust: Trust
  created_at: number
  updated_at: number
}
interface BlockTable extends Omit<BlockRow, 'is_deleted'> {
  is_deleted: Generated<0 | 1>
}

/** Of files and blocks alike: what a change left behind it. */
export interface AssetVersionRow {
  user_id: string
  uri: string
  version: number
  /** Null: it was not there. */
  content: string | null
  tokens: number
  author: 'user' | 'agent'
  trust: Trust
  at: number
}

interface PinRow {
  user_id: string
  /** `main`, or the session that a fork has become. */
  agent: string
  label: string
  position: number
  pinned_at: number
}

export interface ScheduleRow {
  id: string
  user_id: string
  name: string
  kind: 'once' | 'cron' | 'heartbeat'
  expression: string
  time_zone: string
  message: string
  channel: string
  contact: string
  catch_up: 'latest' | 'all' | 'none'
  author: 'user' | 'agent'
  trust: Trust
  state: 'active' | 'done' | 'cancelled'
  next_at: number | null
  created_at: number
  updated_at: number
}

export interface ScheduleRunRow {
  schedule_id: string
  due_at: number
  state: 'begun' | 'delivered' | 'late' | 'missed' | 'failed'
  started_at: number | null
  finished_at: number | null
  message_id: string | null
  error: string | null
}

export interface SpawnRow {
  id: string
  user_id: string
  parent_session_id: string
  parent_turn_id: string
  /** Made again after a restart, the call finds its spawn. */
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
interface ClientCallTable extends Omit<ClientCallRow, 'is_error'> {
  is_error: Generated<0 | 1>
}
