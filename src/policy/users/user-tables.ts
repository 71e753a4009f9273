import type { Tables } from '../../storage/tables.ts'

/** What becomes of the rows of a table when a user is removed. */
export type TableRule =
  /** Each row names its user. */
  | { rows: 'own'; isExported: boolean }
  /** Each row is part of one that names its user: `column` holds the `key` of a row of `of`. */
  | { rows: 'parts'; column: string; of: keyof Tables; key: string; isExported: boolean }
  /** Of the home and of nobody: stays. */
  | { rows: 'shared' }

const own: TableRule = { rows: 'own', isExported: true }
/** Made of what is exported anyway, of use to nobody but Familiar, or secret. */
const unexported: TableRule = { rows: 'own', isExported: false }
const shared: TableRule = { rows: 'shared' }

function partsOf(of: keyof Tables, column: string, { key = 'id', isExported = true } = {}): TableRule {
  return { rows: 'parts', column, of, key, isExported }
}

/**
 * Every table, in the order in which rows have to go: what refers to another one before it. A table that is not named here
 * does not compile, and one that only the database knows fails a test.
 */
export const userTables = {
  build_events: partsOf('builds', 'build_id'),
  build_questions: partsOf('builds', 'build_id'),
  build_files: partsOf('builds', 'build_id'),
  builds: own,
  capability_storage: partsOf('capabilities', 'capability_id'),
  capability_vectors: partsOf('capabilities', 'capability_id', { isExported: false }),
  capability_versions: partsOf('capabilities', 'capability_id'),
  capabilities: own,
  schedule_runs: partsOf('schedules', 'schedule_id'),
  schedules: own,
  spawns: own,
  client_calls: own,
  pins: own,
  asset_versions: own,
  blocks: own,
  outbox: own,
  delivery_cursors: partsOf('sessions', 'session_id', { isExported: false }),
  channel_contacts: own,
  pairing_codes: unexported,
  one_time_links: unexported,
  browsers: unexported,
  session_views: partsOf('sessions', 'session_id', { isExported: false }),
  // The memories themselves are exported in the form that can be brought in again.
  memory_vectors: unexported,
  memory_edges: unexported,
  chunks: unexported,
  facts: unexported,
  episodes: unexported,
  commitments: unexported,
  memory_changes: unexported,
  memory_marks: unexported,
  memory_speakers: own,
  entity_aliases: unexported,
  fact_attributes: unexported,
  memory_files: own,
  memories: unexported,
  tool_weights: own,
  tool_settings: own,
  tool_calls: own,
  client_telemetry: own,
  approvals: own,
  secrets: unexported,
  cost_ledger: own,
  cost_totals: own,
  inbox: own,
  session_snapshots: partsOf('sessions', 'session_id', { isExported: false }),
  // Exported day by day, as `familiar export` does.
  session_events: partsOf('sessions', 'session_id', { isExported: false }),
  sessions: own,
  access_tokens: unexported,
  // A file may be in the conversations of several users: those that are left alone are found by their hash.
  media: shared,
  tool_states: shared,
  tool_vectors: shared,
  trigger_runs: shared,
  channel_marks: shared,
  webhook_nonces: shared,
  users: { rows: 'parts', column: 'id', of: 'users', key: 'id', isExported: true },
} satisfies Record<keyof Tables, TableRule>
