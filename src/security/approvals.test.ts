import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { createIds } from '../base/ids.ts'
import type { Database } from '../storage/database.ts'
import type { ApprovalRow } from '../storage/tables.ts'
import { type Approval, type Approvals, boundIn, createApprovals, type GuardedCall } from './approvals.ts'
import { createGrants, sealOf } from './permissions.ts'

const minute = 60_000
const key = new Uint8Array(32).fill(1)
const call: GuardedCall = {
  userId: 'anna',
  sessionId: 'main',
  tool: 'send',
  arguments: { to: 'bob', body: 'hi' },
  destination: 'https://mail.example',
}

let folder: string
let clock: ManualClock
let database: Database
let approvals: Approvals

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-approvals-'))
  clock = createManualClock()
  database = await openTestDatabase({ directory: folder, clock })
  await database.write(async (writer) => {
    for (const id of ['anna', 'eve']) {
      await writer.insertInto('users').values({ id, name: id, role: 'owner', created_at: 0 }).execute()
    }
  })
  approvals = open()
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

function open(secret = key): Approvals {
  const parts = { database, key: () => secret, clock, ids: createIds(clock) }
  return createApprovals({ ...parts, grants: createGrants(parts), minutes: () => 15 })
}

const ask = (more: Partial<GuardedCall & { isPatient: boolean; callId: string }> = {}) =>
  database.write((writer) =>
    approvals.ask(writer, {
      ...call,
      reach: { kind: 'reach', destination: more.destination ?? call.destination },
      turnId: 'turn',
      callId: 'call-1',
      reason: 'because',
      isPatient: false,
      ...more,
    }),
  )
const answer = (id: string, word: 'approve' | 'deny', userId = 'anna') =>
  database.write((writer) => approvals.answer(writer, { userId, id, answer: word, from: 'http' }))
const use = (more: Partial<GuardedCall> = {}, by = approvals) =>
  database.write((writer) => by.use(writer, { ...call, ...more }))

async function granted(): Promise<Approval> {
  const asked = await ask()
  const outcome = await answer(asked.id, 'approve')
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.approval
}

function tamper(change: Partial<ApprovalRow>): Promise<unknown> {
  return database.write((writer) => writer.updateTable('approvals').set(change).execute())
}

describe('createApprovals', () => {
  it('SEC-16 a granted approval is used once, by the same call', async () => {
    await granted()
    expect(await use({ arguments: { body: 'hi', to: 'bob' } })).toMatchObject({ state: 'used', tool: 'send' })
    expect(await use()).toBeUndefined()
    expect(await database.read.selectFrom('approvals').select('state').execute()).toEqual([{ state: 'used' }])
  })

  it.each<[string, Partial<GuardedCall>]>([
    ['other arguments', { arguments: { to: 'eve', body: 'hi' } }],
    ['fewer arguments', { arguments: { to: 'bob' } }],
    ['more arguments', { arguments: { to: 'bob', body: 'hi', copy: 'eve' } }],
    ['arguments of another kind', { arguments: '{"to":"bob","body":"hi"}' }],
    ['another tool', { tool: 'send_all' }],
    ['another destination', { destination: 'https://evil.example' }],
    ['no destination', { destination: null }],
    ['another session', { sessionId: 'other' }],
    ['another user', { userId: 'eve' }],
  ])('SEC-16 is not used by a call with %s', async (_what, swapped) => {
    await granted()
    expect(await use(swapped)).toBeUndefined()
    expect(await use()).toBeDefined()
  })

  it('SEC-16 a pending or denied approval is not used', async () => {
    const asked = await ask()
    expect(await use()).toBeUndefined()
    expect(await answer(asked.id, 'deny')).toMatchObject({ ok: true, approval: { state: 'denied' } })
    expect(await use()).toBeUndefined()
  })

  it('SEC-16 an answer is valid for the configured minutes only', async () => {
    await granted()
    await clock.advance(15 * minute)
    expect(await use()).toBeUndefined()
  })

  it('SEC-16 a question expires after the configured minutes, or after a day if no user is present', async () => {
    const asked = await ask()
    const patient = await ask({ tool: 'later', isPatient: true })
    expect((await approvals.pending('anna')).map(({ id }) => id)).toEqual([asked.id, patient.id])
    await clock.advance(15 * minute)
    expect(await answer(asked.id, 'approve')).toEqual({ ok: false, reason: 'expired' })
    expect((await approvals.pending('anna')).map(({ id }) => id)).toEqual([patient.id])
    await clock.advance(20 * 60 * minute)
    expect(await answer(patient.id, 'approve')).toMatchObject({ ok: true })
    await clock.advance(14 * minute)
    expect(await use({ tool: 'later' })).toBeDefined()
  })

  it('SEC-16 the same call is asked about once while the question is open, then again', async () => {
    const first = await ask()
    expect(await ask({ callId: 'call-2' })).toEqual(first)
    await answer(first.id, 'deny')
    const second = await ask()
    expect(second.id).not.toBe(first.id)
    await clock.advance(15 * minute)
    expect((await ask()).id).not.toBe(second.id)
    expect((await ask({ sessionId: 'other' })).id).not.toBe(second.id)
  })

  it('SEC-16 repeating an answer changes nothing, a different answer is rejected', async () => {
    const { id } = await granted()
    expect(await answer(id, 'approve')).toMatchObject({ ok: true, isNew: false })
    expect(await answer(id, 'deny')).toEqual({ ok: false, reason: 'answered_otherwise' })
    await use()
    expect(await answer(id, 'approve')).toMatchObject({ ok: true, isNew: false, approval: { state: 'used' } })
    expect(await use()).toBeUndefined()
  })

  it('SEC-22 other users cannot see, answer or use it', async () => {
    const { id } = await ask()
    expect(await approvals.pending('eve')).toEqual([])
    expect(await approvals.pending('anna', 'other')).toEqual([])
    expect(await answer(id, 'approve', 'eve')).toEqual({ ok: false, reason: 'not_found' })
    expect(await answer('no-such', 'approve')).toEqual({ ok: false, reason: 'not_found' })
  })

  it.each<[string, Partial<ApprovalRow>]>([
    ['arguments', { arguments: '{"body":"hi","to":"eve"}' }],
    ['tool', { tool: 'wipe' }],
    ['destination', { destination: 'https://evil.example' }],
    ['session', { session_id: 'other' }],
    ['user', { user_id: 'eve' }],
    ['expiry', { expires_at: Number.MAX_SAFE_INTEGER }],
    ['seal', { seal: '0'.repeat(64) }],
    ['length of the seal', { seal: '' }],
  ])('SEC-16 a row with a changed %s is not valid', async (_what, change) => {
    await granted()
    await tamper(change)
    const [row] = await database.read.selectFrom('approvals').selectAll().execute()
    const fitting = {
      userId: row?.user_id ?? '',
      sessionId: row?.session_id ?? '',
      tool: row?.tool ?? '',
      destination: row?.destination ?? null,
      arguments: JSON.parse(row?.arguments ?? 'null'),
    }
    expect(await use(fitting)).toBeUndefined()
  })

  it('SEC-16 a question changed into an answer, or a used approval into an open one, is not valid', async () => {
    const { id } = await ask()
    await tamper({ state: 'granted' })
    expect(await use()).toBeUndefined()
    await tamper({ state: 'asked' })
    await answer(id, 'approve')
    await use()
    await tamper({ state: 'granted' })
    expect(await use()).toBeUndefined()
  })

  it('SEC-16 a changed question is neither shown nor answered', async () => {
    const { id } = await ask()
    await tamper({ arguments: '{"to":"eve"}' })
    expect(await approvals.pending('anna')).toEqual([])
    expect(await answer(id, 'approve')).toEqual({ ok: false, reason: 'broken_seal' })
  })

  it('SEC-16 is valid under its own key only', async () => {
    await granted()
    expect(await use({}, open(new Uint8Array(32).fill(2)))).toBeUndefined()
    expect(await use({}, open())).toBeDefined()
  })

  it('SEC-16 different approvals have different seals, wherever one value ends and the next begins', () => {
    const row = { id: 'a', user_id: 'b', session_id: 'c', tool: 'd', arguments: 'e', destination: null, expires_at: 1 }
    const seal = (more: object) =>
      sealOf(boundIn({ ...row, effect: null, grants: null, state: 'granted', ...more }), key)
    expect(seal({ tool: 'de', arguments: '' })).not.toBe(seal({}))
    expect(seal({ destination: '' })).not.toBe(seal({}))
    expect(seal({ destination: 'null' })).not.toBe(seal({}))
  })
})
