/** Times are milliseconds since the epoch, money is whole nano-dollars, `data` columns hold JSON text. */
export interface Tables {
  users: UserRow
  access_tokens: AccessTokenRow
  sessions: SessionRow
  session_events: SessionEventRow
  session_snapshots: SessionSnapshotRow
  inbox: InboxRow
  media: MediaRow
  cost_ledger: CostLedgerRow
  cost_totals: CostTotalRow
  notes: NoteRow
}

export interface UserRow {
  id: string
  name: string
  role: 'owner' | 'user'
  created_at: number
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

export interface NoteRow {
  id: string
  user_id: string
  content: string
  tags: string
  source: 'user' | 'agent' | 'extracted' | 'tool' | 'import'
  session_id: string | null
  turn_id: string | null
  created_at: number
}
