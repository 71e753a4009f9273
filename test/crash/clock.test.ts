import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { type Daemon, startDaemon } from '../../src/daemon/daemon.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { SentMessage } from './audit/evidence.ts'
import { audit } from './auditor.ts'
import { type Client, createClient } from './client.ts'
import { writeCrashHome } from './crash-home.ts'
import { crashToolNames, createCrashTools } from './crash-tools.ts'
import { errand } from './errand.ts'
import { respond } from './respond.ts'
import { readSideEffects } from './side-effect-ledger.ts'

const hour = 3_600_000

let folder: string
let model: FakeModel
let daemon: Daemon | undefined
let client: Client
let messages: readonly SentMessage[]
/** The offset of the machine's clock. */
let offset: number
/** While it holds, the model does not answer, and whatever comes in waits. */
let silent: boolean

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-clock-'))
  offset = 0
  silent = false
  messages = []
  model = await startFakeModel({ script: (request) => (silent ? { hang: true } : respond(request)) })
  writeCrashHome(join(folder, 'home'), model.url)
})

afterEach(async () => {
  await daemon?.close(0)
  await model.close()
  rmSync(folder, { recursive: true, force: true })
})

async function start(): Promise<void> {
  const clock: Clock = systemClock(() => Date.now() + offset)
  const started = await startDaemon({
    home: join(folder, 'home'),
    env: { CRASH_KEY: 'key' },
    port: 0,
    clock,
    extraTools: createCrashTools(join(folder, 'side-effects.jsonl')),
  })
  if (!started.ok) throw new Error(JSON.stringify(started))
  daemon = started.daemon
  client = createClient({ url: daemon.url, token: daemon.credential, earlier: messages })
  messages = client.messages
}

async function stop(): Promise<void> {
  await daemon?.close(0)
  daemon = undefined
}

/** Two senders, so that each message keeps a turn of its own. */
async function leave(...numbers: number[]): Promise<void> {
  for (const number of numbers) {
    const sender = number % 2 === 0 ? 'ada' : 'bob'
    await client.notify({ errand: errand(number, { rounds: 'charge' }), session: 'main', sender })
  }
}

async function settledAudit(): Promise<string[]> {
  await expect.poll(() => client.load(), { timeout: 20_000 }).toBe(0)
  const violations = audit({
    databasePath: join(folder, 'home', 'familiar.db'),
    messages: client.messages,
    sideEffects: readSideEffects(join(folder, 'side-effects.jsonl')),
    ledgerTools: crashToolNames,
    rejections: model.rejections().map(({ rejection = '' }) => rejection),
    requests: model.stats().requests,
    interruptions: [],
    settled: true,
  })
  // The moment decides which calls a stop explains, and moments mean nothing here.
  return violations.filter((violation) => !violation.startsWith('needless call'))
}

describe('SESS-3 SESS-5 a clock that jumps back', () => {
  test('SESS-3 while the daemon runs: nothing is lost and nothing reordered', async () => {
    await start()
    silent = true
    await leave(1, 2, 3)
    offset = -hour
    await leave(4, 5, 6)
    offset = -2 * hour
    await leave(7, 8)
    await stop()
    silent = false
    await start()
    expect(await settledAudit()).toEqual([])
  })

  test('SESS-5 while the daemon is down: what waited longest still comes first', async () => {
    silent = true
    await start()
    await leave(1, 2, 3)
    await stop()
    offset = -hour
    await start()
    await leave(4, 5, 6)
    await stop()
    silent = false
    await start()
    expect(await settledAudit()).toEqual([])
  })
})
