import pg from 'pg'
import { eventFromRow } from '../../../src/agent/sessions/session-event.ts'
import type { SessionEventRow } from '../../../src/storage/tables.ts'
import type { Recorded } from './recorded.ts'

const eightByteInteger = 20

/** The same of a database on a server, where it is PostgreSQL that keeps files and references sound. */
export async function readRecordedPostgres(url: string): Promise<Recorded> {
  const client = new pg.Client({
    connectionString: url,
    types: {
      getTypeParser: (type, format) => (type === eightByteInteger ? Number : pg.types.getTypeParser(type, format)),
    },
  })
  await client.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    return await read(client)
  } finally {
    await client.end()
  }
}

async function read(client: pg.Client): Promise<Recorded> {
  async function rows<Row>(table: string, order = ''): Promise<Row[]> {
    return (await client.query(`select * from ${table} ${order}`)).rows as Row[]
  }
  const eventRows = await rows<SessionEventRow>('session_events', 'order by session_id, seq')
  const bySession = Map.groupBy(eventRows, (row) => row.session_id)
  const readable = new Map(eventRows.map((row) => [row, eventFromRow(row)]))
  return {
    integrity: [],
    brokenReferences: [],
    inbox: await rows('inbox', 'order by received_at, id'),
    sessions: await rows('sessions'),
    places: new Map([...bySession].map(([sessionId, own]) => [sessionId, own.map((row) => row.seq)])),
    events: new Map(
      [...bySession].map(([sessionId, own]) => [
        sessionId,
        own.map((row) => readable.get(row)).filter((event) => event !== undefined),
      ]),
    ),
    damagedEvents: eventRows
      .filter((row) => !readable.get(row))
      .map((row) => `${row.session_id} ${row.seq} ${row.type}`),
    snapshots: await rows('session_snapshots'),
    ledger: await rows('cost_ledger', 'order by at, id'),
    totals: await rows('cost_totals'),
  }
}
