import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { camelKeys, canonicalJson } from '../base/json.ts'
import { type Language, languageOfTag } from '../base/languages.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type Json, type Label, subagentChannel } from '../protocol/messages.ts'
import type { ApprovalScope, Effect } from '../protocol/permissions.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { ApprovalRow } from '../storage/tables.ts'
import { type Grants, grantsOf, type Reach, scopesOf, sealOf, sealsMatch } from './permissions.ts'

/** A question about one call, and the user's answer to it. `arguments` is canonical JSON. */
export type Approval = ReturnType<typeof fromRow>

/** The call that was asked about and the call that is made must match in all of these. */
export interface GuardedCall {
  userId: string
  sessionId: string
  tool: string
  arguments: Json
  destination: string | null
}

interface ApprovalQuestion extends GuardedCall {
  reach: Reach
  turnId: string
  callId: string
  reason: string
  /** Default: English. */
  language?: Language | undefined
  /** No user is present to answer at once: the question stays open for a day. */
  isPatient: boolean
}

export interface ApprovalAnswer {
  userId: string
  id: string
  answer: 'approve' | 'deny'
  /** How long an approval lasts; default: for this one call. */
  scope?: ApprovalScope | undefined
  /** The channel that the answer came from. */
  from: string
}

export type AnswerOutcome =
  /** `isNew` is false if the same answer was already given. */
  | { ok: true; approval: Approval; isNew: boolean }
  | { ok: false; reason: 'not_found' | 'expired' | 'answered_otherwise' | 'broken_seal' | 'only_once' }

export type Approvals = ReturnType<typeof createApprovals>

const patienceMs = 24 * 60 * 60_000
const maxPending = 200

/**
 * Approvals (SEC-16). An approval is valid for one call with these arguments, to this destination, in its session,
 * once, and for a few minutes. If anything differs, a new approval is needed.
 */
export function createApprovals(dependencies: {
  database: Database
  /** 32 bytes that are stored outside the database. */
  key: () => Uint8Array
  clock: Clock
  ids: Ids
  /** How long a question can be answered, and how long the answer is valid. */
  minutes: () => number
  grants: Pick<Grants, 'giveIn'>
}) {
  const { database, key, clock, ids, minutes, grants } = dependencies
  const aWhile = () => minutes() * 60_000
  const holds = (row: ApprovalRow) => Number(row.expires_at) > clock.now() && sealsMatch(boundIn(row), row.seal, key())

  async function change(writer: Writer, row: ApprovalRow, to: Partial<ApprovalRow>): Promise<Approval> {
    const changed = { ...row, ...to }
    const { state, expires_at, answered_at, answered_from } = changed
    const { numUpdatedRows } = await writer
      .updateTable('approvals')
      .set({ state, expires_at, answered_at, answered_from, seal: sealOf(boundIn(changed), key()) })
      .where('id', '=', row.id)
      .where('user_id', '=', row.user_id)
      .where('state', '=', row.state)
      .executeTakeFirst()
    if (Number(numUpdatedRows) !== 1)
      throw new FamiliarError('conflict', `Approval ${row.id} was changed by another request`)
    return fromRow(changed)
  }

  /** Without a destination that could be named, the approval is for this call only. */
  async function grantIn(writer: Writer, approval: Approval, scope: ApprovalScope, from: string): Promise<void> {
    const { userId, tool: subject } = approval
    const effect = approval.effect ?? 'reach'
    const sessionId = scope === 'conversation' ? await conversationOf(writer, approval.sessionId) : null
    for (const destination of approval.grants) {
      const given = {
        userId,
        subject,
        effect,
        destination,
        sessionId,
        expiresAt: null,
        from,
      }
      await grants.giveIn(writer, given)
    }
  }

  return {
    /** Returns the open question if this call is already being asked about. */
    async ask(writer: Writer, question: ApprovalQuestion): Promise<Approval> {
      const known = await selectCalls(writer, question, 'asked')
      const open = known.find(holds)
      if (open) return fromRow(open)
      const now = clock.now()
      const row = {
        id: ids.next(),
        user_id: question.userId,
        session_id: question.sessionId,
        turn_id: question.turnId,
        call_id: question.callId,
        tool: question.tool,
        arguments: canonicalJson(question.arguments),
        destination: question.destination,
        reason: question.reason,
        state: 'asked' as const,
        asked_at: now,
        expires_at: now + (question.isPatient ? Math.max(patienceMs, aWhile()) : aWhile()),
        answered_at: null,
        answered_from: null,
        effect: question.reach.kind,
        grants: JSON.stringify(grantsOf(question.reach)),
        language: question.language === undefined || question.language === 'en' ? null : question.language,
      }
      const sealed: ApprovalRow = { ...row, seal: sealOf(boundIn(row), key()) }
      await writer.insertInto('approvals').values(sealed).execute()
      return fromRow(sealed)
    },

    /** Runs in the caller's write unit, so that the consequences of the answer are committed with it. */
    async answer(writer: Writer, { userId, id, answer, scope = 'once', from }: ApprovalAnswer): Promise<AnswerOutcome> {
      const row = await writer
        .selectFrom('approvals')
        .selectAll()
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst()
      if (!row) return { ok: false, reason: 'not_found' }
      if (!sealsMatch(boundIn(row), row.seal, key())) return { ok: false, reason: 'broken_seal' }
      if (row.state !== 'asked') {
        const isSame = (row.state === 'denied') === (answer === 'deny')
        return isSame ? { ok: true, approval: fromRow(row), isNew: false } : { ok: false, reason: 'answered_otherwise' }
      }
      if (answer === 'approve' && !fromRow(row).scopes.includes(scope)) return { ok: false, reason: 'only_once' }
      const now = clock.now()
      if (Number(row.expires_at) <= now) return { ok: false, reason: 'expired' }
      const answered = { answered_at: now, answered_from: from, expires_at: now + aWhile() }
      const approval = await change(writer, row, { ...answered, state: answer === 'approve' ? 'granted' : 'denied' })
      if (answer === 'approve' && scope !== 'once') {
        await grantIn(writer, approval, scope, from)
        // Only the permission counts from now on, so that revoking it ends everything that the answer allowed.
        await change(writer, { ...row, ...answered, state: 'granted' }, { state: 'used' })
      }
      return { ok: true, approval, isNew: true }
    },

    /** Uses up the approval of exactly this call, if there is one. */
    async use(writer: Writer, call: GuardedCall): Promise<Approval | undefined> {
      const granted = await selectCalls(writer, call, 'granted')
      const row = granted.find(holds)
      return row && (await change(writer, row, { state: 'used' }))
    },

    /** Whatever asked for them is gone: no answer has an effect any more. */
    async withdrawIn(writer: Writer, { userId, sessionId }: { userId: string; sessionId: string }): Promise<void> {
      const rows = await writer
        .selectFrom('approvals')
        .selectAll()
        .where('user_id', '=', userId)
        .where('session_id', '=', sessionId)
        .where('state', '=', 'asked')
        .execute()
      for (const row of rows)
        await change(writer, row, { state: 'denied', answered_at: clock.now(), answered_from: 'stop' })
    },

    /** The questions that can be answered now, oldest first. */
    async pending(userId: string, sessionId?: string): Promise<Approval[]> {
      let query = database.read
        .selectFrom('approvals')
        .selectAll()
        .where('user_id', '=', userId)
        .where('state', '=', 'asked')
        .where('expires_at', '>', clock.now())
      if (sessionId !== undefined) query = query.where('session_id', '=', sessionId)
      const rows = await query.orderBy('asked_at').orderBy('id').limit(maxPending).execute()
      return rows.filter(holds).map(fromRow)
    },
  }
}

/** A sub-agent asks on behalf of the conversation above it. */
async function conversationOf(writer: Writer, sessionId: string): Promise<string> {
  const above = await writer
    .selectFrom('sessions')
    .innerJoin('spawns', 'spawns.id', 'sessions.contact')
    .select('spawns.parent_session_id')
    .where('sessions.id', '=', sessionId)
    .where('sessions.channel', '=', subagentChannel)
    .executeTakeFirst()
  return above?.parent_session_id ?? sessionId
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

/** `expiresAt`: the question can be answered until then; once granted, the approval can be used until then. */
function fromRow({ seal: _seal, answered_at: _at, answered_from: _from, grants, language, ...row }: ApprovalRow) {
  const given = grants === null ? [] : (JSON.parse(grants) as string[])
  return {
    ...camelKeys(row),
    effect: row.effect as Effect | null,
    grants: given,
    scopes: scopesOf(given),
    ...languageField(language),
  }
}

/** English is the usual one, and not named. */
function languageField(stored: string | null): { language?: Language } {
  const language = languageOfTag(stored)
  return language === undefined || language === 'en' ? {} : { language }
}

/** Everything that the approval covers, and its state. */
type Sealed = Pick<
  ApprovalRow,
  'id' | 'user_id' | 'session_id' | 'tool' | 'arguments' | 'destination' | 'state' | 'expires_at' | 'effect' | 'grants'
>

export function boundIn(row: Sealed): Json {
  const { id, user_id, session_id, tool, arguments: given, destination, state, expires_at, effect, grants } = row
  const bound = ['approval', id, user_id, session_id, tool, given, destination, state, Number(expires_at)]
  // Rows of older versions have neither.
  return effect === null && grants === null ? bound : [...bound, effect, grants]
}

/** Sources without a person behind them: programs, schedules, and messages from Familiar itself. */
const automated: Readonly<Record<string, Label>> = {
  system: 'internal',
  approval: 'internal',
  builder: 'internal',
  subagent: 'internal',
  report: 'internal',
  schedule: 'internal',
  cron: 'untrusted',
  webhook: 'untrusted',
}

/** The source of messages that report an answer given elsewhere. */
export const approvalSource = 'approval'

/** The source of messages in which a sub-agent asks for an approval or reports its end. */
export const reportSource = 'report'

export function isAutomated(source: string): boolean {
  return Object.hasOwn(automated, source)
}

/** Whether the user wrote the message personally: only then can it approve something. */
export function isOwnWords(message: { source: string; label?: Label | undefined }): boolean {
  return !isAutomated(message.source) && (message.label ?? 'owner') === 'owner'
}

/** The trust of a message whose channel does not state one; undefined for the owner's own words. */
export function labelOfSource(source: string): Label | undefined {
  return isAutomated(source) ? automated[source] : undefined
}
