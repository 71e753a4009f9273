import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { canonicalJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Json } from '../protocol/json.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { ApprovalRow } from '../storage/tables.ts'
import { isSealed, sealOf } from './approval-seal.ts'

/** The user's word for one call, asked for, given or refused. */
export interface Approval {
  id: string
  userId: string
  sessionId: string
  turnId: string
  callId: string
  tool: string
  /** Canonical JSON. */
  arguments: string
  destination: string | null
  reason: string
  state: ApprovalRow['state']
  askedAt: number
  /** Until then it can be answered; once granted, used. */
  expiresAt: number
}

/** A call as it is asked for and as it is made: all of it must be the same. */
export interface GuardedCall {
  userId: string
  sessionId: string
  tool: string
  arguments: Json
  destination: string | null
}

interface ApprovalQuestion extends GuardedCall {
  turnId: string
  callId: string
  reason: string
  /** Nobody is there who could answer at once: the question waits for a day. */
  isPatient: boolean
}

export interface ApprovalAnswer {
  userId: string
  id: string
  answer: 'approve' | 'deny'
  /** The channel that the word came through. */
  from: string
}

export type AnswerOutcome =
  /** `isNew` false: it had been answered so before. */
  | { ok: true; approval: Approval; isNew: boolean }
  | { ok: false; reason: 'not_found' | 'expired' | 'answered_otherwise' | 'broken_seal' }

/**
 * Approvals (SEC-16). One holds for one call, with these arguments, to this destination, in its session, once, and for
 * a few minutes. Whatever does not fit in every point does not exist: another one is asked for.
 */
export interface Approvals {
  /** While the same call is being asked about, the same question again. */
  ask(writer: Writer, question: ApprovalQuestion): Promise<Approval>
  /** In a unit of the caller's, so that what follows from the answer is written with it. */
  answer(writer: Writer, answer: ApprovalAnswer): Promise<AnswerOutcome>
  /** Takes the word for this very call, if there is one: it cannot be taken again. */
  use(writer: Writer, call: GuardedCall): Promise<Approval | undefined>
  /** What can be answered now, oldest first. */
  pending(userId: string, sessionId?: string): Promise<Approval[]>
}

const patienceMs = 24 * 60 * 60_000
const mostPending = 200

export function createApprovals(dependencies: {
  database: Database
  /** 32 bytes that lie apart from the database. */
  key: () => Uint8Array
  clock: Clock
  ids: Ids
  /** How long a question can be answered, and how long the answer holds. */
  minutes: () => number
}): Approvals {
  const { database, key, clock, ids, minutes } = dependencies
  const aWhile = () => minutes() * 60_000
  const holds = (row: ApprovalRow) => Number(row.expires_at) > clock.now() && isSealed(row, key())

  async function change(writer: Writer, row: ApprovalRow, to: Partial<ApprovalRow>): Promise<Approval> {
    const changed = { ...row, ...to }
    const { state, expires_at, answered_at, answered_from } = changed
    const { numUpdatedRows } = await writer
      .updateTable('approvals')
      .set({ state, expires_at, answered_at, answered_from, seal: sealOf(changed, key()) })
      .where('id', '=', row.id)
      .where('user_id', '=', row.user_id)
      .where('state', '=', row.state)
      .executeTakeFirst()
    if (Number(numUpdatedRows) !== 1) throw new FamiliarError('conflict', `Approval ${row.id} was changed meanwhile`)
    return fromRow(changed)
  }

  return {
    async ask(writer, question) {
      const known = await selectCalls(writer, question, 'asked')
      const open = known.find(holds)
      if (open) return fromRow(open)
      const now = clock.now()
      const row: Omit<ApprovalRow, 'seal'> = {
        id: ids.next(),
        user_id: question.userId,
        session_id: question.sessionId,
        turn_id: question.turnId,
        call_id: question.callId,
        tool: question.tool,
        arguments: canonicalJson(question.arguments),
        destination: question.destination,
        reason: question.reason,
        state: 'asked',
        asked_at: now,
        expires_at: now + (question.isPatient ? Math.max(patienceMs, aWhile()) : aWhile()),
        answered_at: null,
        answered_from: null,
      }
      await writer
        .insertInto('approvals')
        .values({ ...row, seal: sealOf(row, key()) })
        .execute()
      return fromRow(row)
    },

    async answer(writer, { userId, id, answer, from }) {
      const row = await selectOne(writer, userId, id)
      if (!row) return { ok: false, reason: 'not_found' }
      if (!isSealed(row, key())) return { ok: false, reason: 'broken_seal' }
      if (row.state !== 'asked') {
        const isSame = (row.state === 'denied') === (answer === 'deny')
        return isSame ? { ok: true, approval: fromRow(row), isNew: false } : { ok: false, reason: 'answered_otherwise' }
      }
      const now = clock.now()
      if (Number(row.expires_at) <= now) return { ok: false, reason: 'expired' }
      const answered = { answered_at: now, answered_from: from, expires_at: now + aWhile() }
      const approval = await change(writer, row, { ...answered, state: answer === 'approve' ? 'granted' : 'denied' })
      return { ok: true, approval, isNew: true }
    },

    async use(writer, call) {
      const granted = await selectCalls(writer, call, 'granted')
      const row = granted.find(holds)
      return row && (await change(writer, row, { state: 'used' }))
    },

    async pending(userId, sessionId) {
      let query = database.read
        .selectFrom('approvals')
        .selectAll()
        .where('user_id', '=', userId)
        .where('state', '=', 'asked')
        .where('expires_at', '>', clock.now())
      if (sessionId !== undefined) query = query.where('session_id', '=', sessionId)
      const rows = await query.orderBy('asked_at').orderBy('id').limit(mostPending).execute()
      return rows.filter(holds).map(fromRow)
    },
  }
}

function selectOne(reader: Reader | Writer, userId: string, id: string) {
  return reader
    .selectFrom('approvals')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/** The approvals of exactly this call, in that state. */
async function selectCalls(writer: Writer, call: GuardedCall, state: ApprovalRow['state']): Promise<ApprovalRow[]> {
  const rows = await writer
    .selectFrom('approvals')
    .selectAll()
    .where('session_id', '=', call.sessionId)
    .where('state', '=', state)
    .where('user_id', '=', call.userId)
    .where('tool', '=', call.tool)
    .where('arguments', '=', canonicalJson(call.arguments))
    .orderBy('asked_at')
    .execute()
  return rows.filter((row) => row.destination === call.destination)
}

function fromRow(row: Omit<ApprovalRow, 'seal'>): Approval {
  return {
    id: row.id,
    userId: row.user_id,
    sessionId: row.session_id,
    turnId: row.turn_id,
    callId: row.call_id,
    tool: row.tool,
    arguments: row.arguments,
    destination: row.destination,
    reason: row.reason,
    state: row.state,
    askedAt: Number(row.asked_at),
    expiresAt: Number(row.expires_at),
  }
}
