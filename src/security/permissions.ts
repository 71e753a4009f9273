import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { camelKeys, canonicalJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import {
  type ApprovalScope,
  approvalScopes,
  type Effect,
  type PolicyMode,
  policyModes,
} from '../protocol/permissions.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { GrantRow } from '../storage/tables.ts'

/** The kinds of content that a session has seen; they are never reset (SEC-6). */
export interface Seen {
  untrusted: boolean
  private: boolean
}

/** The effect and destination of a call, derived from its arguments by its tool. */
export interface Reach {
  kind: Effect
  /** As the owner declares and sees it: `https://example.com`, `exec:host`, `mcp:calendar`. */
  destination: string | null
  /** The destinations of a lasting grant; default: the destination. Empty: the call can be allowed only once. */
  grants?: readonly string[]
  /** The owner approved this destination for this tool when it was built, imported or enabled. */
  isApproved?: true
  /** The address that a call reads and sends nothing to: safe if the conversation already contains it. */
  reads?: string
}

export type Verdict = { allowed: true } | { allowed: false; reason: string }

const allowed: Verdict = { allowed: true }

const reasons = {
  change: 'This conversation contains text from outside, which may have asked for it.',
  reach: 'This conversation contains text from outside, which may have asked for it.',
  later: 'This conversation contains text from outside, which may have asked for it.',
  send: 'It goes to other people.',
  host: 'It runs on this machine, outside the sandbox.',
} as const

/**
 * Whether a call may be made without asking (SEC-6). Everything that the user says is private, so once untrusted text
 * is in the conversation, that text must not choose where data goes. `strict` also asks before local changes and
 * before reading a known address; `trusting` asks only before sending to people and before commands on the machine.
 */
export function judgeCall(call: {
  mode: PolicyMode
  seen: Pick<Seen, 'untrusted'>
  reach: Reach
  destinations: readonly string[]
  /** Whether the conversation holds the address that the call reads, from a source that the model does not control. */
  isKnown(address: string): boolean
}): Verdict {
  const { mode, seen, reach, destinations, isKnown } = call
  const { kind } = reach
  if (kind === 'read') return allowed
  if (kind === 'send' || kind === 'host') return { allowed: false, reason: reasons[kind] }
  if (!seen.untrusted || mode === 'trusting') return allowed
  if (kind === 'change') return mode === 'strict' ? { allowed: false, reason: reasons.change } : allowed
  if (reach.isApproved || isDeclared(reach.destination, destinations)) return allowed
  if (kind === 'reach' && mode === 'balanced' && reach.reads !== undefined && isKnown(reach.reads)) return allowed
  return { allowed: false, reason: reasons[kind] }
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

/** The destinations that a lasting grant of this call names. None: the call can only be allowed once. */
export function grantsOf(reach: Reach): readonly string[] {
  return reach.grants ?? (reach.destination === null ? [] : [reach.destination])
}

/** The ways in which the user can allow a call. */
export function scopesOf(grants: readonly string[]): readonly ApprovalScope[] {
  return grants.length === 0 ? ['once'] : approvalScopes
}

/** The mode of a conversation: the user's choice for it, within the user's plan. */
export function modeOf(chosen: { session: PolicyMode | null; usual: PolicyMode; plan: PolicyMode | null }): PolicyMode {
  const { session, usual, plan } = chosen
  const wanted = session ?? plan ?? usual
  if (plan === null) return wanted
  return policyModes.indexOf(wanted) < policyModes.indexOf(plan) ? wanted : plan
}

/** A standing permission: this tool, with this effect, to this destination, in one conversation or in all. */
export type Grant = ReturnType<typeof fromRow>

export interface NewGrant {
  userId: string
  /** The name of a tool. */
  subject: string
  effect: Effect
  destination: string
  /** Only in this conversation; null: in all of them. */
  sessionId: string | null
  expiresAt: number | null
  /** The channel or program that the user gave it in. */
  from: string
}

export type Grants = ReturnType<typeof createGrants>

const maxGrants = 1_000

export function createGrants(dependencies: {
  database: Database
  /** 32 bytes that are stored outside the database. */
  key: () => Uint8Array
  clock: Clock
  ids: Ids
}) {
  const { database, key, clock, ids } = dependencies
  const holds = (row: GrantRow) =>
    (row.expires_at === null || Number(row.expires_at) > clock.now()) && sealsMatch(boundIn(row), row.seal, key())

  const select = (reader: Writer | Database['read'], userId: string) =>
    reader.selectFrom('grants').selectAll().where('user_id', '=', userId)

  return {
    /** Returns the grant that is already there if it is the same. */
    async giveIn(writer: Writer, given: NewGrant): Promise<Grant> {
      const rows = await select(writer, given.userId).where('subject', '=', given.subject).execute()
      const same = rows.find(
        (row) =>
          row.effect === given.effect &&
          row.destination === given.destination &&
          row.session_id === given.sessionId &&
          row.expires_at === given.expiresAt &&
          holds(row),
      )
      if (same) return fromRow(same)
      if (rows.length >= maxGrants)
        throw new FamiliarError('bad_request', `${given.subject} has ${maxGrants} permissions. Revoke some first.`)
      const row = {
        id: ids.next(),
        user_id: given.userId,
        subject: given.subject,
        effect: given.effect,
        destination: given.destination,
        session_id: given.sessionId,
        given_at: clock.now(),
        given_from: given.from,
        expires_at: given.expiresAt,
      }
      const sealed: GrantRow = { ...row, seal: sealOf(boundIn(row), key()) }
      await writer.insertInto('grants').values(sealed).execute()
      return fromRow(sealed)
    },

    /** Whether the user allowed every part of the call before, for this conversation or for all. */
    async covers(writer: Writer, call: { userId: string; sessionIds: readonly string[]; tool: string; reach: Reach }) {
      const wanted = grantsOf(call.reach).map((destination) => coveringDestinations(destination, call.reach.kind))
      if (wanted.length === 0) return false
      const rows = await select(writer, call.userId)
        .where('subject', '=', call.tool)
        .where('effect', '=', call.reach.kind)
        .where('destination', 'in', [...new Set(wanted.flat())])
        .execute()
      const valid = new Set(
        rows
          .filter((row) => (row.session_id === null || call.sessionIds.includes(row.session_id)) && holds(row))
          .map(({ destination }) => destination),
      )
      return wanted.every((covering) => covering.some((destination) => valid.has(destination)))
    },

    async list(userId: string): Promise<Grant[]> {
      const rows = await select(database.read, userId).orderBy('given_at', 'desc').orderBy('id').execute()
      return rows.filter(holds).map(fromRow)
    },

    /** False if there is none. It counts from the next call on, also in runs that are under way. */
    async revoke(userId: string, id: string): Promise<boolean> {
      return await database.write(async (writer) => {
        const { numDeletedRows } = await writer
          .deleteFrom('grants')
          .where('user_id', '=', userId)
          .where('id', '=', id)
          .executeTakeFirst()
        return Number(numDeletedRows) > 0
      })
    },
  }
}

const maxRuleWords = 64

/** The destinations of grants that cover this one. A rule for commands may end in ` *`: any further words. */
function coveringDestinations(wanted: string, effect: Effect): string[] {
  if (effect !== 'host') return [wanted, originOf(wanted) ?? wanted]
  const words = wanted.split(' ')
  const beginnings = words.slice(0, maxRuleWords).map((_, at) => `${words.slice(0, at + 1).join(' ')} *`)
  return [wanted, ...beginnings]
}

/** Everything that the grant covers: a program that can write the row but lacks the key cannot make its seal. */
function boundIn(row: Omit<GrantRow, 'seal' | 'given_at' | 'given_from'>) {
  const { id, user_id, subject, effect, destination, session_id, expires_at } = row
  return ['grant', id, user_id, subject, effect, destination, session_id, expires_at && Number(expires_at)]
}

function fromRow({ seal: _seal, ...row }: GrantRow) {
  return { ...camelKeys(row), effect: row.effect as Effect }
}

/** A program that can write the row but does not have the key cannot make this. */
export function sealOf(bound: Json, key: Uint8Array): string {
  return createHmac('sha256', key).update(canonicalJson(bound)).digest('hex')
}

export function sealsMatch(bound: Json, seal: string, key: Uint8Array): boolean {
  const expected = Buffer.from(sealOf(bound, key))
  const found = Buffer.from(seal)
  return expected.length === found.length && timingSafeEqual(expected, found)
}
