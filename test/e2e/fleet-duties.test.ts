import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { errand, textOfErrand, tokensIn } from '../crash/errand.ts'
import { createFleetScene, type FleetDaemon, type FleetScene } from '../crash/fleet/fleet-scene.ts'
import { type Provider, startProvider } from '../crash/provider.ts'
import { token } from '../crash/scene.ts'
import { type FakeTelegram, startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import { type LocalSite, openLocalSite } from '../support/local-site.ts'
import { openTestPool } from '../support/postgres/open-test-pool.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'

const minutes = 60_000
const chat = 7_001
let folder: string
let provider: Provider
let site: LocalSite
let telegram: FakeTelegram
let scene: FleetScene
let pool: pg.Pool

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-duties-'))
  provider = await startProvider({ folder, chunkDelayMs: 40 })
  site = await openLocalSite((_request, response) => response.end())
  telegram = await startFakeTelegram({})
  const toml = `[callback]
url = "${site.origin}/heard"
secret_env = "CALLBACK_SECRET"
[telegram]
api_root = "${telegram.apiRoot}"
allowed_ids = [${chat}]
`
  const env = { CALLBACK_SECRET: 'a secret of some length', TELEGRAM_BOT_TOKEN: telegram.token }
  scene = await createFleetScene({ folder, provider, patienceMs: 2 * minutes, toml, env })
  pool = openTestPool({ connectionString: scene.databaseUrl, max: 1 })
})
afterEach(async () => {
  await pool.end()
  await scene.remove()
  await site.close()
  await telegram.close()
  await provider.stop()
  rmSync(folder, { recursive: true, force: true })
})

const rows = async <Row>(text: string, values: unknown[] = []) => (await pool.query(text, values)).rows as Row[]

/** The daemons in the order in which they were started: whose line holds the lock of the one who leads. */
async function leaderOf(daemons: readonly FleetDaemon[]): Promise<FleetDaemon | undefined> {
  const found = await rows<{ leads: boolean }>(
    `select exists (
       select 1 from pg_locks own join pg_locks lead on lead.pid = own.pid
       where own.locktype = 'advisory' and lead.locktype = 'advisory' and own.granted and lead.granted
         and (own.classid::bigint << 32) + own.objid::bigint = daemons.lock_key
         and (lead.classid::bigint << 32) + lead.objid::bigint = 7236482001
     ) as leads from daemons order by started_at`,
  )
  // One that was killed is still among them for a moment.
  if (found.length !== daemons.length) return undefined
  return daemons[found.findIndex(({ leads }) => leads)]
}

async function startInOrder(count: number): Promise<FleetDaemon[]> {
  const daemons: FleetDaemon[] = []
  while (daemons.length < count) daemons.push(await scene.start())
  return daemons
}

async function schedule(daemon: FleetDaemon, message: string, at: number): Promise<void> {
  const response = await fetch(`${daemon.url}/api/v1/schedules`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ at: new Date(at).toISOString(), message, session: message }),
  })
  expect(response.status).toBe(201)
}

const heard = (): string[] => site.requests.map(({ body }) => JSON.parse(body).turn_id)

describe.skipIf(whyNoPostgres())('duties that one daemon does for all', () => {
  it(
    'SCALE-9 a schedule is sent and a program called once, also when the one who does it is killed in that moment',
    async () => {
      const daemons = await startInOrder(3)
      const [one, two, three] = daemons as [FleetDaemon, FleetDaemon, FleetDaemon]
      // Each was taken in by another daemon; what is due in one moment is due for all three.
      const due = Math.ceil(Date.now() / 1_000) * 1_000 + 4_000
      const names = ['ada', 'bob', 'cy', 'dan', 'eve', 'fay']
      for (const [index, name] of names.entries()) {
        await schedule([one, two, three][index % 3] ?? one, name, due + Math.floor(index / 3) * 1_000)
      }
      const leader = await leaderOf(daemons)
      expect(leader).toBeDefined()
      await wait(due - Date.now() + 20)
      await leader?.kill()
      const ended = () => rows<{ id: string }>("select turn_id as id from session_events where type = 'turn_ended'")
      await expect.poll(async () => (await ended()).length, { timeout: 30_000 }).toBe(names.length)
      const sent = await rows<{ contact: string }>(
        'select contact from inbox join sessions on sessions.id = session_id order by contact',
      )
      expect(sent.map(({ contact }) => contact)).toEqual(names)
      const runs = await rows<{ state: string }>('select state from schedule_runs')
      expect(runs.map(({ state }) => state).filter((state) => state !== 'delivered' && state !== 'late')).toEqual([])
      expect(runs).toHaveLength(names.length)
      const turns = (await ended()).map(({ id }) => id)
      await expect.poll(() => new Set(heard()), { timeout: 30_000 }).toEqual(new Set(turns))
      expect(heard()).toHaveLength(turns.length)
      const left = daemons.filter((daemon) => daemon !== leader)
      expect(await leaderOf(left)).toBeDefined()
    },
    2 * minutes,
  )

  it(
    'SCALE-9 CHAN-1 each message of Telegram is taken in once, also when the one who fetches them is killed',
    async () => {
      const daemons = await startInOrder(3)
      const tokens: string[] = []
      const kills = process.env.FAMILIAR_TEST_ALL ? 3 : 1
      for (let number = 1; number <= 4 * kills; number += 1) {
        const sent = errand(number)
        tokens.push(sent.token)
        telegram.say(chat, textOfErrand(sent))
        await wait(300)
        if (number % 4 !== 0) continue
        await expect.poll(() => leaderOf(daemons), { timeout: 10_000 }).toBeDefined()
        const leader = (await leaderOf(daemons)) as FleetDaemon
        await leader.kill()
        daemons.splice(daemons.indexOf(leader), 1)
        daemons.push(await scene.start())
        telegram.replay()
      }
      const answered = () => new Set(telegram.chat(chat).flatMap(({ text = '' }) => tokensIn(text)))
      await expect.poll(() => [...answered()].sort(), { timeout: 60_000 }).toEqual(tokens)
      const received = await rows<{ data: string }>("select data from session_events where type = 'message_received'")
      expect(received.flatMap(({ data }) => tokensIn(data)).sort()).toEqual(tokens)
    },
    2 * minutes,
  )

  it(
    'SCALE-4 a daemon that was wrongly considered dead ends no turn that another one has taken over',
    async () => {
      const frozen = await scene.start()
      const rounds = 'charge|put_value|charge|fetch_page|charge'
      await scene.client.notify({ errand: errand(1, { rounds }), session: 'taken' })
      await expect
        .poll(async () => (await rows("select 1 from session_events where type = 'tool_finished'")).length, {
          timeout: 20_000,
          interval: 20,
        })
        .toBeGreaterThan(0)
      const pid = frozen.child.pid ?? 0
      process.kill(pid, 'SIGSTOP')
      scene.interruptions.push(Date.now())
      await rows(
        `select pg_terminate_backend(pid) from pg_locks, daemons
         where locktype = 'advisory' and (classid::bigint << 32) + objid::bigint = lock_key`,
      )
      await scene.start()
      await scene.settle()
      process.kill(pid, 'SIGCONT')
      // It continues where it was, finds that the turn belongs to another daemon, and that the others consider it dead.
      await frozen.child.ended
      expect(await scene.audit()).toEqual([])
      const ends = await rows("select 1 from session_events where type = 'turn_ended'")
      expect(ends).toHaveLength(1)
    },
    2 * minutes,
  )
})
