import { join } from 'node:path'
import { project } from '../../../src/agent/sessions/projection.ts'
import type { LoggedEvent, SessionEvent } from '../../../src/agent/sessions/session-event.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { sha256 } from '../../../src/base/ids.ts'
import { localDay, monthOf } from '../../../src/base/money.ts'
import type { Writer } from '../../../src/storage/database.ts'
import { openSqlite } from '../../../src/storage/sqlite/open-sqlite.ts'
import type { CostLedgerRow } from '../../../src/storage/tables.ts'
import type { Evidence } from './evidence.ts'

/** Money of every call in the file. */
const cost = 500
const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 }

/**
 * A file as a daemon that never crashed would leave it: two turns of one session, the first of which charges once, asks
 * and is answered by the second. Every test of the auditor breaks one thing in it.
 */
export async function writeSoundFile(directory: string): Promise<Evidence> {
  const databasePath = join(directory, 'familiar.db')
  const clock = systemClock()
  const database = await openSqlite({ path: databasePath, clock, snapshotDirectory: directory })
  await database.write((writer) => writeRows(writer))
  await database.close()
  const [first, second] = texts
  return {
    databasePath,
    messages: [
      { key: 'key-1', token: 'word-1', text: first, sentAt: 1, acknowledgedAt: 2 },
      { key: 'key-2', token: 'word-2', text: second, sentAt: 3, acknowledgedAt: 4, reply: 'Done: word-2' },
    ],
    sideEffects: [
      { tool: 'charge', effect: 'at-most-once', callId: 'call-1', turnId: 'turn-1', operation: 'charge 1' },
    ],
    ledgerTools: ['charge'],
    rejections: [],
    requests: 4,
    interruptions: [],
    settled: true,
  }
}

const texts = ['Please charge, word-1', 'Go on, word-2'] as const

async function writeRows(writer: Writer): Promise<void> {
  const log = soundLog()
  await writer.insertInto('users').values({ id: 'user', name: 'Ada', role: 'owner', created_at: 1 }).execute()
  const session = { id: 'session', user_id: 'user', channel: 'http', contact: 'ada', state: 'active' } as const
  const times = { created_at: 1, updated_at: 1 }
  await writer
    .insertInto('sessions')
    .values({ ...session, ...times, last_seq: log.length, last_input_tokens: 110 })
    .execute()
  const messages = texts.map((text, index) => inboxRow(index + 1, text))
  await writer.insertInto('inbox').values(messages).execute()
  await writer.insertInto('session_events').values(log.map(eventRow)).execute()
  const data = JSON.stringify({ version: 1, projection: project(log) })
  const snapshot = { session_id: 'session', seq: log.length, hash: sha256(data), data }
  await writer.insertInto('session_snapshots').values(snapshot).execute()
  const ledger = [ledgerRow('1', 'turn-1'), ledgerRow('2', 'turn-1'), ledgerRow('3', 'turn-2'), ledgerRow('4', null)]
  await writer.insertInto('cost_ledger').values(ledger).execute()
  for (const period of [`day:${localDay(1)}`, `month:${monthOf(1)}`]) {
    const total = { user_id: 'user', period, spent_nanousd: ledger.length * cost, reserved_nanousd: 0 }
    await writer.insertInto('cost_totals').values(total).execute()
  }
}

function soundLog(): LoggedEvent[] {
  const first: SessionEvent[] = [
    received('message-1', texts[0]),
    started('message-1', ''),
    responded([{ type: 'tool_call', id: 'call-1', name: 'charge', input: {} }], 'tool_use'),
    { type: 'tool_started', callId: 'call-1', name: 'charge', input: {}, effect: 'at-most-once' },
    { type: 'tool_finished', callId: 'call-1', name: 'charge', text: 'charged', isError: false },
    responded([{ type: 'text', text: 'word-1: which one?' }], 'end'),
    ended('question', 'word-1: which one?', 'Which one?'),
  ]
  const second: SessionEvent[] = [
    received('message-2', texts[1]),
    started('message-2', 'You had asked: Which one?'),
    responded([{ type: 'text', text: 'Done: word-2' }], 'end'),
    ended('completed', 'Done: word-2', null),
  ]
  const place = (events: SessionEvent[], turnId: string, before: number) =>
    events.map((event, index) => ({ ...event, seq: before + index + 1, turnId, at: before + index + 1 }))
  return [...place(first, 'turn-1', 0), ...place(second, 'turn-2', first.length)]
}

function received(messageId: string, text: string): SessionEvent {
  const origin = { sender: 'ada', source: 'http', tier: 'full', metadata: {} }
  return { type: 'message_received', messageId, text, media: [], ...origin }
}

function started(messageId: string, context: string): SessionEvent {
  const origin = { source: 'http', tier: 'full', model: 'local/main' }
  return { type: 'turn_started', messageIds: [messageId], ...origin, context, recalled: [] }
}

type Responded = Extract<SessionEvent, { type: 'model_responded' }>

function responded(parts: Responded['parts'], stopReason: Responded['stopReason']): SessionEvent {
  return { type: 'model_responded', model: 'local/main', parts, stopReason, usage, costNanousd: cost }
}

function ended(outcome: 'completed' | 'question', text: string, question: string | null): SessionEvent {
  return { type: 'turn_ended', outcome, text, question, toolCalls: [], deliver: true }
}

function inboxRow(number: number, text: string) {
  return {
    id: `message-${number}`,
    user_id: 'user',
    session_id: 'session',
    key: `key-${number}`,
    body_hash: '',
    state: 'done',
    turn_id: `turn-${number}`,
    received_at: number,
    data: JSON.stringify({ text }),
  } as const
}

function eventRow({ seq, turnId, at, type, ...data }: LoggedEvent) {
  return { session_id: 'session', seq, type, turn_id: turnId, at, data: JSON.stringify(data) }
}

function ledgerRow(id: string, turnId: string | null): CostLedgerRow {
  return {
    id,
    user_id: 'user',
    session_id: 'session',
    turn_id: turnId,
    purpose: turnId === null ? 'compaction' : 'primary',
    model: 'local/main',
    state: 'settled',
    at: 1,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reserved_nanousd: 900,
    cost_nanousd: cost,
  }
}
