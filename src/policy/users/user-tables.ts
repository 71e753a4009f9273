import type { Tables } from '../../storage/tables.ts'

/** What becomes of the rows of a table when a user is removed. */
export type TableRule<Column extends string = string> =
  /** Each row names its user. */
  | { rows: 'own'; exportedBy: Exported<Column> }
  /** Each row is part of one that names its user: `column` holds the `key` of a row of `of`. */
  | { rows: 'parts'; column: Column; of: keyof Tables; key: string; exportedBy: Exported<Column> }
  /** Of the home and of nobody: stays. */
  | { rows: 'shared' }

/** The order that its rows are exported in, which is that of its primary key; null where they are not. */
type Exported<Column extends string> = readonly Column[] | null

/** Made of what is exported anyway, of use to nobody but Familiar, or secret. */
const unexported = { rows: 'own', exportedBy: null } as const
const shared = { rows: 'shared' } as const
const notExported = null

function own<Column extends string>(...exportedBy: Column[]) {
  return { rows: 'own', exportedBy } as const
}

function partsOf<Column extends string>(of: keyof Tables, column: Column, exportedBy: Exported<Column>) {
  return { rows: 'parts', column, of, key: 'id', exportedBy } as const
}

/**
 * Every table, in the order in which rows have to go: what refers to another one before it. A table that is not named here
 * does not compile, and one that only the database knows fails a test.
 */
export const userTables = {
  build_events: partsOf('builds', 'build_id', ['build_id', 'seq']),
  build_questions: partsOf('builds', 'build_id', ['id']),
  build_files: partsOf('builds', 'build_id', ['build_id', 'path']),
  builds: own('id'),
  capability_storage: partsOf('capabilities', 'capability_id', ['capability_id', 'key']),
  capability_vectors: partsOf('capabilities', 'capability_id', notExported),
  capability_versions: partsOf('capabilities', 'capability_id', ['capability_id', 'version']),
  capabilities: own('id'),
  schedule_runs: partsOf('schedules', 'schedule_id', ['schedule_id', 'due_at']),
  schedules: own('id'),
  spawns: own('id'),
  client_calls: own('session_id', 'call_id'),
  pins: own('user_id', 'agent', 'label'),
  asset_versions: own('user_id', 'uri', 'version'),
  blocks: own('user_id', 'label'),
  outbox: own('id'),
  delivery_cursors: partsOf('sessions', 'session_id', notExported),
  channel_contacts: own('channel', 'address'),
  pairing_codes: unexported,
  one_time_links: unexported,
  browsers: unexported,
  session_views: partsOf('sessions', 'session_id', notExported),
  session_holders: partsOf('sessions', 'session_id', notExported),
  // The memories themselves are exported in the form that can be brought in again.
  memory_vectors: unexported,
  memory_edges: unexported,
  chunks: unexported,
  facts: unexported,
  episodes: unexported,
  commitments: unexported,
  memory_changes: unexported,
  memory_marks: unexported,
  memory_speakers: own('user_id', 'name'),
  entity_aliases: unexported,
  fact_attributes: unexported,
  memory_files: own('id'),
  memories: unexported,
  tool_weights: own('user_id', 'topic', 'tool'),
  tool_settings: own('user_id', 'tool', 'key'),
  tool_calls: own('id'),
  client_telemetry: own('user_id'),
  approvals: own('id'),
  secrets: unexported,
  cost_ledger: own('id'),
  cost_totals: own('user_id', 'period'),
  inbox: own('id'),
  session_snapshots: partsOf('sessions', 'session_id', notExported),
  // Exported day by day, as `familiar export` does.
  session_events: partsOf('sessions', 'session_id', notExported),
  sessions: own('id'),
  access_tokens: unexported,
  // A file may be in the conversations of several users: those that are left alone are found by their hash.
  media: shared,
  tool_states: shared,
  tool_vectors: shared,
  trigger_runs: shared,
  channel_marks: shared,
  daemons: shared,
  webhook_nonces: shared,
  users: partsOf('users', 'id', ['id']),
} satisfies { [Table in keyof Tables]: TableRule<keyof Tables[Table] & string> }
