import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { eventFromRow, type LoggedEvent } from '../../../src/agent/sessions/session-event.ts'
import type {
  CostLedgerRow,
  CostTotalRow,
  InboxRow,
  SessionEventRow,
  SessionRow,
  SessionSnapshotRow,
} from '../../../src/storage/tables.ts'

/** The daemon's records, as they are in the file. */
export interface Recorded {
  integrity: string[]
  brokenReferences: string[]
  inbox: InboxRow[]
  sessions: SessionRow[]
  /** The places in the log of each session, readable or not. */
  places: ReadonlyMap<string, number[]>
  events: ReadonlyMap<string, LoggedEvent[]>
  damagedEvents: string[]
  snapshots: SessionSnapshotRow[]
  ledger: CostLedgerRow[]
  totals: CostTotalRow[]
}

/** A file that a first start had not made, or not filled, when it was killed holds nothing. */
export function readRecorded(path: string): Recorded {
  const database = existsSync(path)
    ? new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
    : new DatabaseSync(':memory:')
  try {
    // One snapshot of it all, though a daemon may be at work on it.
    database.exec('begin')
    return read(database)
  } finally {
    database.close()
  }
}

function read(database: DatabaseSync): Recorded {
  // The rows are those of the program's own migrations; the type says what they hold.
  const all = <Row>(sql: string): Row[] => database.prepare(sql).all() as unknown as Row[]
  const tables = new Set(
    all<{ name: string }>("select name from sqlite_schema where type = 'table'").map((row) => row.name),
  )
  const rows = <Row>(table: string, order = ''): Row[] =>
    tables.has(table) ? all(`select * from ${table} ${order}`) : []
  const eventRows = rows<SessionEventRow>('session_events', 'order by session_id, seq')
  const bySession = Map.groupBy(eventRows, (row) => row.session_id)
  const readable = new Map(eventRows.map((row) => [row, eventFromRow(row)]))
  const eventsOf = (own: SessionEventRow[]) =>
    own.map((row) => readable.get(row)).filter((event) => event !== undefined)
  return {
    integrity: all<{ integrity_check: string }>('pragma integrity_check')
      .map((row) => row.integrity_check)
      .filter((line) => line !== 'ok'),
    brokenReferences: all<{ table: string; rowid: number; parent: string }>('pragma foreign_key_check').map(
      (row) => `${row.table} row ${row.rowid} has no ${row.parent}`,
    ),
    inbox: rows('inbox', 'order by received_at, id'),
    sessions: rows('sessions'),
    places: new Map([...bySession].map(([sessionId, own]) => [sessionId, own.map((row) => row.seq)])),
    events: new Map([...bySession].map(([sessionId, own]) => [sessionId, eventsOf(own)])),
    damagedEvents: eventRows
      .filter((row) => !readable.get(row))
      .map((row) => `${row.session_id} ${row.seq} ${row.type}`),
    snapshots: rows('session_snapshots'),
    ledger: rows('cost_ledger', 'order by at, id'),
    totals: rows('cost_totals'),
  }
}

export interface RecordedTurn {
  id: string
  sessionId: string
  events: LoggedEvent[]
  span: { from: number; to: number }
}

/** Every turn with an event in the log. An unfinished one has no end. */
export function turnsOf(recorded: Recorded): RecordedTurn[] {
  return [...recorded.events].flatMap(([sessionId, all]) => {
    const byTurn = Map.groupBy(
      all.filter((event) => event.turnId !== null),
      (event) => event.turnId ?? '',
    )
    return [...byTurn].map(([id, events]) => {
      const from = events[0]?.at ?? 0
      const to = ofType(events, 'turn_ended').at(-1)?.at ?? Number.POSITIVE_INFINITY
      return { id, sessionId, events, span: { from, to } }
    })
  })
}

export function ofType<Type extends LoggedEvent['type']>(
  events: readonly LoggedEvent[],
  type: Type,
): Extract<LoggedEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<LoggedEvent, { type: Type }> => event.type === type)
}
