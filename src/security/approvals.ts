import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { camelKeys, canonicalJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json, Label } from '../protocol/messages.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { ApprovalRow } from '../storage/tables.ts'

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
  turnId: string
  callId: string
  reason: string
  /** No user is present to answer at once: the question stays open for a day. */
  isPatient: boolean
}

export interface ApprovalAnswer {
  userId: string
  id: string
  answer: 'approve' | 'deny'
  /** The channel that the answer came from. */
  from: string
}

export type AnswerOutcome =
  /** `isNew` is false if the same answer was already given. */
  | { ok: true; approval: Approval; isNew: boolean }
  | { ok: false; reason: 'not_found' | 'expired' | 'answered_otherwise' | 'broken_seal' }

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
}) {
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
    if (Number(numUpdatedRows) !== 1)
      throw new FamiliarError('conflict', `Approval ${row.id} was changed by another request`)
    return fromRow(changed)
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
      }
      const sealed: ApprovalRow = { ...row, seal: sealOf(row, key()) }
      await writer.insertInto('approvals').values(sealed).execute()
      return fromRow(sealed)
    },

    /** Runs in the caller's write unit, so that the consequences of the answer are committed with it. */
    async answer(writer: Writer, { userId, id, answer, from }: ApprovalAnswer): Promise<AnswerOutcome> {
      const row = await writer
        .selectFrom('approvals')
        .selectAll()
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst()
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

    /** Uses up the approval of exactly this call, if there is one. */
    async use(writer: Writer, call: GuardedCall): Promise<Approval | undefined> {
      const granted = await selectCalls(writer, call, 'granted')
      const row = granted.find(holds)
      return row && (await change(writer, row, { state: 'used' }))
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
function fromRow({ seal: _seal, answered_at: _at, answered_from: _from, ...row }: ApprovalRow) {
  return camelKeys(row)
}

/** Everything that the approval covers, and its state. */
type Sealed = Pick<
  ApprovalRow,
  'id' | 'user_id' | 'session_id' | 'tool' | 'arguments' | 'destination' | 'state' | 'expires_at'
>

/** A program that can write the row but does not have the key cannot make this. */
export function sealOf(row: Sealed, key: Uint8Array): string {
  const { id, user_id, session_id, tool, arguments: given, destination, state, expires_at } = row
  const bound = ['approval', id, user_id, session_id, tool, given, destination, state, Number(expires_at)]
  return createHmac('sha256', key).update(canonicalJson(bound)).digest('hex')
}

function isSealed(row: Sealed & { seal: string }, key: Uint8Array): boolean {
  const expected = Buffer.from(sealOf(row, key))
  const found = Buffer.from(row.seal)
  return expected.length === found.length && timingSafeEqual(expected, found)
}

/** A call that is waiting for an approval or has one. */
type AskedCall = Pick<Approval, 'tool' | 'arguments'>

/** Returned to the model in place of a result. */
export const waitsForApproval =
  "Not done: this call waits for the user's approval, which has been requested. Do not try to achieve the same in another way."

const shownArguments = 1_000
const toldArguments = 4_000

/** The question to the user: everything that the approval covers, destination first, in one line. */
export function approvalQuestion(call: AskedCall & { destination: string | null; reason: string }): string {
  const where = call.destination === null ? '' : ` to ${visible(call.destination)}`
  return `May I call ${visible(call.tool)}${where}, with ${shortened(visible(call.arguments))}? ${call.reason} Yes or no?`
}

const questionStart = String.raw`\bMay I call \S+(?: to \S+)?, with (?=[{["]|null)`
const beginsQuestion = new RegExp(questionStart)
const wholeQuestion = new RegExp(
  String.raw`(?:\bStill waiting for your answer: )?${questionStart}.+?\? [^?]+\. Yes or no\?`,
  'gs',
)
const cutQuestion = new RegExp(`${questionStart}.*`, 's')

/** Whether a text contains such a question, complete or cut off: earlier versions stored them as memories (SEC-15). */
export function holdsApprovalQuestion(text: string): boolean {
  return beginsQuestion.test(text)
}

/** The model's text without such questions; empty if there is nothing else. */
export function withoutApprovalQuestions(text: string): string {
  return text
    .replaceAll(wholeQuestion, '')
    .replace(cutQuestion, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

/** Sent to the model after the user approved; it makes the call again. */
export function approvedText(call: AskedCall): string {
  return `The user approved: ${named(call)}. Make exactly this call now, once.`
}

export function deniedText(call: AskedCall): string {
  return `The user denied: ${named(call)}. Do not do it, and do not do the same in another way.`
}

function named({ tool, arguments: given }: AskedCall): string {
  return given.length > toldArguments ? `${tool} with the arguments that you gave it` : `${tool} with ${given}`
}

/** Shows invisible characters, and those that change direction or end the line, as their codes. */
function visible(text: string): string {
  const codeOf = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => character.split('').map(codeOf).join(''))
}

function shortened(text: string): string {
  if (text.length <= shownArguments) return text
  const kept = text.slice(0, shownArguments).toWellFormed()
  return `${kept} … (${text.length - shownArguments} more characters, all of them in "familiar approvals")`
}

/** The kinds of content that a session has seen; they are never reset (SEC-6). */
export interface Seen {
  untrusted: boolean
  private: boolean
}

/** The effect and destination of a call, derived from its arguments by its tool. */
export interface Reach {
  kind: 'reads' | 'acts' | 'asks'
  destination: string | null
}

type Verdict = { allowed: true } | { allowed: false; reason: string }

const allowed: Verdict = { allowed: true }

/**
 * Whether a call may be made without the owner's approval. Injected text must not make the model leak what it knows:
 * once a session has seen both untrusted and private content, only destinations that the owner declared are open.
 */
export function judgeCall(call: { seen: Seen; reach: Reach; destinations: readonly string[] }): Verdict {
  const { seen, reach, destinations } = call
  switch (reach.kind) {
    case 'reads':
      return allowed
    case 'asks':
      return { allowed: false, reason: 'It always needs your approval.' }
    case 'acts':
      if (!seen.untrusted || !seen.private || isDeclared(reach.destination, destinations)) return allowed
      return { allowed: false, reason: 'This conversation contains untrusted text as well as private information.' }
  }
}

function isDeclared(destination: string | null, declared: readonly string[]): boolean {
  if (destination === null) return false
  return declared.some((one) => one === destination || (originOf(one) === one && one === originOf(destination)))
}

/** Encrypted origins only: on a plain one, any machine on the route can pose as that address. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  return url?.protocol === 'https:' ? url.origin : undefined
}

/** Sources without a person behind them: programs, schedules, and messages from Familiar itself. */
const automated: Readonly<Record<string, Label>> = {
  system: 'internal',
  approval: 'internal',
  builder: 'internal',
  subagent: 'internal',
  schedule: 'internal',
  cron: 'untrusted',
  webhook: 'untrusted',
}

/** The source of messages that report an answer given elsewhere. */
export const approvalSource = 'approval'

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
