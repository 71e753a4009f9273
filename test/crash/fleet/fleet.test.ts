import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoPostgres } from '../../support/postgres/start-postgres.ts'
import { type Random, seededRandom } from '../../support/random-log.ts'
import { takesAll } from '../chosen-passings.ts'
import { errand } from '../errand.ts'
import { type Provider, startProvider } from '../provider.ts'
import { createFleetScene, type FleetDaemon, type FleetScene } from './fleet-scene.ts'
import { wholeEvents } from './stream-watcher.ts'

const minutes = 60_000
const size = takesAll
  ? { daemons: 3, sessions: 200, turns: 4_000, killEveryMs: 4_000 }
  : { daemons: 3, sessions: 12, turns: 96, killEveryMs: 2_500 }

const plans = ['', 'charge', 'charge,fetch_page,put_value', 'print_page,charge|fetch_page', 'put_value|charge']

let folder: string
let provider: Provider
let scene: FleetScene

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-fleet-'))
  provider = await startProvider({ folder, chunkDelayMs: 2 })
  scene = await createFleetScene({ folder, provider, patienceMs: 40 * minutes })
})

afterAll(async () => {
  await scene.remove()
  await provider.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** People who write, each in their session, one message after the other, to whichever daemon answers. */
async function writeAll(random: Random): Promise<void> {
  let number = 0
  const perSession = size.turns / size.sessions
  const person = async (_: unknown, place: number) => {
    for (let left = perSession; left > 0; left -= 1) {
      number += 1
      const delivery = { errand: errand(number, { rounds: plans[random(plans.length)] ?? '' }), session: `s${place}` }
      if (random(3) === 0) await scene.client.notify(delivery)
      else await scene.client.chat(delivery)
    }
  }
  await Promise.all(Array.from({ length: size.sessions }, person))
}

/** Kills one daemon after the other, each at least once, and puts another one in its place. */
async function killInTurn(daemons: FleetDaemon[], over: { now: boolean }): Promise<number> {
  let kills = 0
  while (!over.now || kills < size.daemons) {
    await wait(size.killEveryMs)
    const doomed = daemons.shift()
    if (!doomed) break
    await doomed.kill()
    kills += 1
    daemons.push(await scene.start())
  }
  return kills
}

async function sessionIds(): Promise<string[]> {
  return (await scene.recorded()).sessions.map(({ id }) => id)
}

describe.skipIf(whyNoPostgres())('several daemons on one database', () => {
  test(
    'SCALE-4 SCALE-10 killed in turn under traffic: nothing lost, nothing twice, in order; streams continue elsewhere',
    async () => {
      const random = seededRandom(7)
      const daemons = await Promise.all(Array.from({ length: size.daemons }, () => scene.start()))
      // The sessions exist before the first watcher.
      await Promise.all(
        Array.from({ length: 3 }, (_, place) =>
          scene.client.chat({ errand: errand(9_000 + place), session: `s${place}` }),
        ),
      )
      const watched = (await sessionIds()).map((id) => ({ id, watcher: scene.watch(id) }))
      const over = { now: false }
      const killing = killInTurn(daemons, over)
      await writeAll(random)
      await scene.settle()
      over.now = true
      const kills = await killing
      console.log(`fleet: ${size.turns} turns in ${size.sessions} sessions, ${kills} kills`)
      expect(kills).toBeGreaterThan(0)
      expect(await scene.audit()).toEqual([])
      for (const { id, watcher } of watched) {
        const told = await scene.retell(id, wholeEvents(watcher.events).length)
        await watcher.stop()
        expect(watcher.connections()).toBeGreaterThan(1)
        expect(wholeEvents(watcher.events)).toEqual(told)
      }
    },
    40 * minutes,
  )
})
