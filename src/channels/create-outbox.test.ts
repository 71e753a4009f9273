import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { createIds } from '../base/ids.ts'
import { silentLogger } from '../base/logger.ts'
import type { Database } from '../storage/database.ts'
import type { Outbox } from './create-outbox.ts'
import { createOutbox } from './create-outbox.ts'
import {
  type OutboxItem,
  type OutboxStepName,
  type OutgoingItem,
  pauseAfter,
  type Sender,
  type SendOutcome,
} from './outbox.ts'

const hour = 60 * 60_000
const start = Date.UTC(2026, 10, 15, 9, 0)

let folder: string
let clock: ManualClock
let database: Database
const opened: Outbox[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-'))
  clock = createManualClock(start)
  database = await openTestDatabase({ directory: folder, clock })
  await database.write(async (writer) => {
    for (const id of ['anna', 'ben']) {
      const row = { id, name: id, role: id === 'anna' ? 'owner' : 'user', created_at: start } as const
      await writer.insertInto('users').values(row).execute()
    }
  })
})

afterEach(async () => {
  for (const outbox of opened.splice(0)) await outbox.close()
  await database.close()
  rmSync(folder, { recursive: true })
})

type Script = (item: OutboxItem, attempt: number) => SendOutcome | Promise<SendOutcome>

/** The other side, which answers by the script and records everything. */
function scriptedSender(script: Script = () => ({ kind: 'sent', externalId: null }), more: Partial<Sender> = {}) {
  const sent: { text: unknown; at: number }[] = []
  const sender: Sender = {
    channel: 'post',
    async send(item) {
      sent.push({ text: item.payload, at: clock.now() - start })
      return await script(item, sent.length)
    },
    onUnknown: () => ({ kind: 'leave' }),
    ...more,
  }
  return { sender, sent, texts: () => sent.map(({ text }) => text) }
}

function open(onStep?: (step: OutboxStepName) => void): Outbox {
  const ids = createIds(clock)
  const dependencies = { database, clock, ids, logger: silentLogger, random: () => 0 }
  const outbox = createOutbox({ ...dependencies, ...(onStep && { onStep }) })
  opened.push(outbox)
  return outbox
}

function letter(text: string, more: Partial<OutgoingItem> = {}): OutgoingItem {
  return { userId: 'anna', channel: 'post', address: 'here', key: text, payload: text, sessionId: null, ...more }
}

async function put(outbox: Outbox, ...items: OutgoingItem[]): Promise<void> {
  await database.write((writer) => outbox.putIn(writer, items))
  outbox.wake()
}

const states = async (outbox: Outbox) =>
  Object.fromEntries((await outbox.list('anna', { limit: 100 })).map((item) => [item.key, item.state]))

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate)
}

/** Nothing is being sent, and the next item of each address has to wait. */
async function isQuiet(): Promise<boolean> {
  const open = await database.read
    .selectFrom('outbox')
    .selectAll()
    .where('next_at', 'is not', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const paused = await database.read
    .selectFrom('channel_marks')
    .select('value')
    .where('name', '=', 'paused_until')
    .executeTakeFirst()
  const heads = [...Map.groupBy(open, ({ address }) => address).values()].map(([head]) => head)
  return heads.every(
    (head) => head?.state === 'pending' && Math.max(Number(head.next_at), Number(paused?.value ?? 0)) > clock.now(),
  )
}

/** Advances the time until nothing is being sent, in steps no longer than any timer. */
async function pass(milliseconds: number): Promise<void> {
  await until(isQuiet)
  for (let passed = 0; passed < milliseconds; passed += 250) {
    await clock.advance(Math.min(250, milliseconds - passed))
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    await until(isQuiet)
  }
}

describe('OUT-1 an outgoing item', () => {
  it('OUT-1 is sent after its commit, and marked before the first byte is sent', async () => {
    const seen: string[] = []
    const { sender, texts } = scriptedSender(async () => {
      const row = await database.read.selectFrom('outbox').select(['state', 'attempts']).executeTakeFirstOrThrow()
      seen.push(`${row.state} ${row.attempts}`)
      return { kind: 'sent', externalId: '77' }
    })
    const steps = new Set<string>()
    const outbox = open((step) => steps.add(step))
    await outbox.start([sender])
    await put(outbox, letter('a'))
    await until(() => steps.has('outcome_written'))
    expect(texts()).toEqual(['a'])
    expect(seen).toEqual(['sending 1'])
    expect([...steps]).toEqual(['items_put_in', 'item_claimed', 'item_sent', 'outcome_written'])
    const [item] = await outbox.list('anna', { limit: 1 })
    expect(item).toMatchObject({ state: 'sent', externalId: '77', nextAt: null, error: null })
  })

  it('OUT-1 is not sent if its unit failed', async () => {
    const { sender, texts } = scriptedSender()
    const outbox = open()
    await outbox.start([sender])
    const unit = database.write(async (writer) => {
      await outbox.putIn(writer, [letter('a')])
      throw new Error('no')
    })
    await expect(unit).rejects.toThrow('no')
    await put(outbox, letter('b'))
    await until(async () => (await outbox.counts('anna')).sent === 1)
    expect(texts()).toEqual(['b'])
  })

  it('OUT-1 is queued once under its key', async () => {
    const { sender, texts } = scriptedSender()
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'), letter('a'), letter('b'))
    await put(outbox, letter('a'))
    await until(async () => (await outbox.counts('anna')).sent === 2)
    expect(texts()).toEqual(['a', 'b'])
  })

  it.each([
    ['left', { kind: 'leave' }, ['unknown']],
    ['tried again', { kind: 'retry' }, ['sent']],
    ['said again', { kind: 'repeat', payload: 'a?' }, ['sent', 'unknown']],
  ] as const)('OUT-1 has an unknown outcome after a crash, and then %s', async (_what, decision, expected) => {
    const { sender: dying } = scriptedSender(() => new Promise(() => {}))
    const dead = createOutbox({ database, clock, ids: createIds(clock), logger: silentLogger })
    await dead.start([dying])
    await put(dead, letter('a'), letter('b'))
    await until(async () => (await dead.counts('anna')).sending === 1)

    const { sender, texts } = scriptedSender(undefined, { onUnknown: () => decision })
    const outbox = open()
    await outbox.start([sender])
    await pass(3_000)
    const items = await outbox.list('anna', { limit: 10 })
    expect(items.filter(({ key }) => key.startsWith('a')).map(({ state }) => state)).toEqual(expected)
    // Whatever its outcome, the next item comes after it.
    expect(texts()).toEqual([...(decision.kind === 'leave' ? [] : [decision.kind === 'retry' ? 'a' : 'a?']), 'b'])
    if (decision.kind === 'repeat') expect(items.find(({ repeats }) => repeats)?.repeats).toBe(items.at(-1)?.id)
  })

  it('OUT-1 an exception in a sender leaves the outcome unknown', async () => {
    const { sender } = scriptedSender(() => Promise.reject(new Error('broke')))
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'))
    await until(async () => (await outbox.counts('anna')).unknown === 1)
    expect((await outbox.list('anna', { limit: 1 }))[0]).toMatchObject({ error: 'broke', nextAt: null })
  })
})

describe('OUT-2 the order', () => {
  it('OUT-2 items to one address are sent one by one, and addresses do not wait for each other', async () => {
    const gate = Promise.withResolvers<void>()
    const { sender, texts } = scriptedSender(async (item) => {
      if (item.address === 'slow') await gate.promise
      return { kind: 'sent', externalId: null }
    })
    const outbox = open()
    await outbox.start([sender])
    const slow = { address: 'slow' }
    await put(outbox, letter('s1', slow), letter('s2', slow), letter('a1'), letter('a2'), letter('a3'))
    await until(async () => (await outbox.counts('anna')).sent === 3)
    expect(texts().filter((text) => text !== 's1')).toEqual(['a1', 'a2', 'a3'])
    gate.resolve()
    await until(async () => (await outbox.counts('anna')).sent === 5)
    expect(texts()).toHaveLength(5)
    expect(texts().at(-1)).toBe('s2')
  })

  it('OUT-2 keeps the order while one waits for a retry', async () => {
    const { sender, texts } = scriptedSender((_item, attempt) =>
      attempt <= 2 ? { kind: 'retry', reason: 'busy', afterMs: null } : { kind: 'sent', externalId: null },
    )
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'), letter('b'))
    await pass(500)
    await put(outbox, letter('c'))
    await pass(5_000)
    expect(texts()).toEqual(['a', 'a', 'a', 'b', 'c'])
  })

  it('OUT-2 does not wait for an item that failed permanently or may have arrived', async () => {
    const { sender, texts } = scriptedSender((item) =>
      item.key === 'a'
        ? { kind: 'failed', reason: 'no' }
        : item.key === 'b'
          ? { kind: 'unknown', reason: '?' }
          : { kind: 'sent', externalId: null },
    )
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'), letter('b'), letter('c'))
    await until(async () => (await outbox.counts('anna')).sent === 1)
    expect(texts()).toEqual(['a', 'b', 'c'])
    expect(await states(outbox)).toEqual({ a: 'failed', b: 'unknown', c: 'sent' })
  })

  it('OUT-2 queues nothing before waiting items when the clock was set back', async () => {
    const { sender, texts } = scriptedSender()
    const outbox = open()
    await put(outbox, letter('a'))
    clock.setTime(start - hour)
    const later = open()
    await put(later, letter('b'))
    await put(later, letter('c'))
    clock.setTime(start + 1_000)
    await later.start([sender])
    await until(async () => (await later.counts('anna')).sent === 3)
    expect(texts()).toEqual(['a', 'b', 'c'])
  })

  it('OUT-2 continues at the new address of a recipient that moved', async () => {
    const addresses: string[] = []
    const { sender } = scriptedSender((item) => {
      addresses.push(item.address)
      return item.address === 'here' ? { kind: 'moved', address: 'there' } : { kind: 'sent', externalId: null }
    })
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'), letter('b'))
    await until(async () => (await outbox.counts('anna')).sent === 2)
    expect(addresses).toEqual(['here', 'there', 'there'])
  })
})

describe('OUT-3 retries', () => {
  it('OUT-3 respects the requested pause, for the whole channel, also after a restart', async () => {
    const afterMs = 7_321
    const { sender, sent } = scriptedSender((_item, attempt) =>
      attempt === 1 ? { kind: 'retry', reason: '429', afterMs, isForAll: true } : { kind: 'sent', externalId: null },
    )
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'))
    await pass(1_000)
    await put(outbox, letter('b', { address: 'elsewhere' }))
    await pass(2_000)
    await outbox.close()
    const again = open()
    await again.start([sender])
    await put(again, letter('c', { address: 'third' }))
    await pass(6_000)
    expect(sent.map(({ text }) => text).sort()).toEqual(['a', 'a', 'b', 'c'])
    for (const { at } of sent.slice(1)) expect(at).toBeGreaterThanOrEqual(afterMs)
  })

  it('OUT-3 respects that pause from the moment of the request', async () => {
    const { sender, texts } = scriptedSender(async (_item, attempt) => {
      if (attempt > 1) return { kind: 'sent', externalId: null }
      await database.write((writer) => outbox.putIn(writer, [letter('b', { address: 'elsewhere' })]))
      return { kind: 'retry', reason: '429', afterMs: 5_000, isForAll: true }
    })
    const outbox = open((step) => {
      if (step === 'item_sent') outbox.wake()
    })
    await outbox.start([sender])
    await put(outbox, letter('a'))
    await pass(4_000)
    expect(texts()).toEqual(['a'])
    await pass(2_000)
    expect(texts().sort()).toEqual(['a', 'a', 'b'])
  })

  it('OUT-3 waits longer each time, up to ten minutes, and gives up after two days', async () => {
    const { sender, sent } = scriptedSender(() => ({ kind: 'retry', reason: 'down', afterMs: null }))
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'))
    for (;;) {
      await until(isQuiet)
      const [item] = await outbox.list('anna', { limit: 1 })
      if (item?.nextAt === null || item === undefined) break
      await clock.advance(Math.min(5 * 60_000, Math.max(0, item.nextAt - clock.now())))
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
    }
    const pauses = sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0))
    expect(pauses.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000])
    expect(Math.max(...pauses)).toBe(10 * 60_000)
    expect((await outbox.list('anna', { limit: 1 }))[0]).toMatchObject({
      state: 'failed',
      error: 'gave up after 48 hours: down',
    })
    expect(sent.at(-1)?.at).toBeGreaterThan(48 * hour)
  })

  it('OUT-3 tries once if it can never succeed', async () => {
    const { sender, texts } = scriptedSender(() => ({ kind: 'failed', reason: 'gone' }))
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'))
    await pass(60_000)
    expect(texts()).toEqual(['a'])
  })

  it('OUT-3 pauses grow and stay within their limits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, share) => {
          const pause = pauseAfter(attempts, () => share)
          expect(pause).toBeGreaterThanOrEqual(1_000)
          expect(pause).toBeLessThanOrEqual(10 * 60_000)
          expect(pauseAfter(attempts + 1, () => 0)).toBeGreaterThanOrEqual(pauseAfter(attempts, () => 0))
        },
      ),
    )
  })
})

describe("OUT-1 the user's view", () => {
  it('OUT-1 an item is retried or cancelled only in suitable states, and only by its user', async () => {
    let answer: SendOutcome = { kind: 'failed', reason: 'no' }
    const { sender, texts } = scriptedSender(() => answer)
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, letter('a'))
    await until(async () => (await outbox.counts('anna')).failed === 1)
    const [failed] = await outbox.list('anna', { limit: 1 })
    const id = failed?.id ?? ''
    await expect(outbox.show('ben', id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(outbox.retry('ben', id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(outbox.cancel('ben', id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await outbox.list('ben', { limit: 10 })).toEqual([])
    await expect(outbox.cancel('anna', id)).rejects.toMatchObject({ code: 'conflict' })

    answer = { kind: 'sent', externalId: null }
    expect((await outbox.retry('anna', id)).state).toBe('pending')
    await until(async () => (await outbox.counts('anna')).sent === 1)
    await expect(outbox.retry('anna', id)).rejects.toMatchObject({ code: 'conflict' })

    answer = { kind: 'retry', reason: 'later', afterMs: hour }
    await put(outbox, letter('b'), letter('c'))
    await until(async () => (await outbox.list('anna', { state: 'pending', limit: 9 })).some(({ error }) => error))
    const waiting = await outbox.list('anna', { state: 'pending', channel: 'post', limit: 9 })
    const b = waiting.find(({ key }) => key === 'b')?.id ?? ''
    answer = { kind: 'sent', externalId: null }
    expect((await outbox.cancel('anna', b)).state).toBe('cancelled')
    await until(async () => (await outbox.counts('anna')).sent === 2)
    expect(texts()).toEqual(['a', 'a', 'b', 'c'])
  })

  it('OUT-1 is deleted a month after its end, and not before', async () => {
    const { sender } = scriptedSender()
    const outbox = open()
    await outbox.start([sender])
    await put(outbox, ...Array.from({ length: 210 }, (_, index) => letter(`old ${index}`)))
    await until(async () => (await outbox.counts('anna')).sent === 210)
    await put(outbox, letter('waits', { channel: 'nobody' }))
    await clock.advance(29 * 24 * hour)
    await put(outbox, letter('new'))
    await until(async () => (await outbox.counts('anna')).sent === 211)
    // Day by day: the next cleanup is a day after the end of the previous one.
    await until(async () => {
      await clock.advance(24 * hour)
      return (await outbox.counts('anna')).sent === 1
    })
    expect(await outbox.counts('anna')).toMatchObject({ sent: 1, pending: 1 })
  })
})
