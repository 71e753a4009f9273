import { DatabaseSync } from 'node:sqlite'
import { eventFromRow, type LoggedEvent } from '../../../src/sessions/session-event.ts'
import type {
  CostLedgerRow,
  CostTotalRow,
  InboxRow,
  SessionEventRow,
  SessionRow,
  SessionSnapshotRow,
} from '../../../src/storage/tables.ts'

/** What the daemon wrote down, as it lies in the file. */
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

export function readRecorded(path: string): Recorded {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
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
  const rows = <Row>(sql: string): Row[] => database.prepare(sql).all() as unknown as Row[]
  const eventRows = rows<SessionEventRow>('select * from session_events order by session_id, seq')
  const bySession = Map.groupBy(eventRows, (row) => row.session_id)
  const readable = new Map(eventRows.map((row) => [row, eventFromRow(row)]))
  const eventsOf = (own: SessionEventRow[]) =>
    own.map((row) => readable.get(row)).filter((event): event is LoggedEvent => event !== undefined)
  return {
    integrity: rows<{ integrity_check: string }>('pragma integrity_check')
      .map((row) => row.integrity_check)
      .filter((line) => line !== 'ok'),
    brokenReferences: rows<{ table: string; rowid: number; parent: string }>('pragma foreign_key_check').map(
      (row) => `${row.table} row ${row.rowid} has no ${row.parent}`,
    ),
    inbox: rows('select * from inbox order by received_at, id'),
    sessions: rows('select * from sessions'),
    places: new Map([...bySession].map(([sessionId, own]) => [sessionId, own.map((row) => row.seq)])),
    events: new Map([...bySession].map(([sessionId, own]) => [sessionId, eventsOf(own)])),
    damagedEvents: eventRows
      .filter((row) => !readable.get(row))
      .map((row) => `${row.session_id} ${row.seq} ${row.type}`),
    snapshots: rows('select * from session_snapshots'),
    ledger: rows('select * from cost_ledger order by at, id'),
    totals: rows('select * from cost_totals'),
  }
}

export interface RecordedTurn {
  id: string
  sessionId: string
  events: LoggedEvent[]
  span: { from: number; to: number }
}

/** Every turn that has an event in the log. One that has not ended lasts for ever. */
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
