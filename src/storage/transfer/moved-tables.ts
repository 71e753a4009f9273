import type { Tables } from '../tables.ts'

/**
 * Every table of the program under the columns of its primary key, parents before those that refer to them: rows are
 * written in this order. A table that is missing here does not compile.
 */
export const movedTables: Record<Exclude<keyof Tables, TablesOfTheMoment>, readonly string[]> = {
  users: ['id'],
  access_tokens: ['id'],
  browsers: ['id'],
  one_time_links: ['id'],
  sessions: ['id'],
  session_events: ['session_id', 'seq'],
  session_snapshots: ['session_id'],
  session_views: ['session_id'],
  inbox: ['id'],
  media: ['hash'],
  cost_ledger: ['id'],
  cost_totals: ['user_id', 'period'],
  memories: ['number'],
  facts: ['id'],
  episodes: ['id'],
  commitments: ['id'],
  memory_files: ['id'],
  chunks: ['id'],
  entity_aliases: ['user_id', 'alias_key', 'entity_key'],
  fact_attributes: ['user_id', 'attribute_key'],
  memory_edges: ['source_id', 'target_id', 'relation'],
  memory_vectors: ['place'],
  memory_changes: ['id'],
  memory_marks: ['user_id', 'name'],
  memory_speakers: ['user_id', 'name'],
  tool_weights: ['user_id', 'topic', 'tool'],
  tool_states: ['name'],
  tool_settings: ['user_id', 'tool', 'key'],
  tool_vectors: ['tool', 'model'],
  tool_calls: ['id'],
  client_telemetry: ['user_id'],
  secrets: ['user_id', 'owner', 'name'],
  approvals: ['id'],
  trigger_runs: ['id'],
  webhook_nonces: ['tool', 'nonce'],
  capabilities: ['id'],
  capability_versions: ['capability_id', 'version'],
  capability_storage: ['capability_id', 'key'],
  capability_vectors: ['capability_id', 'model'],
  builds: ['id'],
  build_events: ['build_id', 'seq'],
  build_questions: ['id'],
  build_files: ['build_id', 'path'],
  blocks: ['user_id', 'label'],
  asset_versions: ['user_id', 'uri', 'version'],
  pins: ['user_id', 'agent', 'label'],
  schedules: ['id'],
  schedule_runs: ['schedule_id', 'due_at'],
  spawns: ['id'],
  client_calls: ['session_id', 'call_id'],
  outbox: ['id'],
  delivery_cursors: ['channel', 'session_id'],
  channel_marks: ['channel', 'name'],
  channel_contacts: ['channel', 'address'],
  pairing_codes: ['id'],
}

/** Who is at work at this moment: of no meaning where nobody is. */
type TablesOfTheMoment = 'daemons' | 'session_holders'

/** What is not moved: the engine's own, and what is made anew at the other end from what was moved. */
export function isMadeAnew(table: string): boolean {
  return ofTheMoment.has(table) || bookkeeping.has(table) || /^text_(scopes|entries|index)/.test(table)
}

export const ofTheMoment: ReadonlySet<string> = new Set<TablesOfTheMoment>(['daemons', 'session_holders'])

export const progressTable = 'transfer_progress'
const bookkeeping: ReadonlySet<string> = new Set(['schema_migrations', progressTable])
