import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Random, seededRandom } from '../support/random-log.ts'
import { takesAll } from './chosen-passings.ts'
import { type Provider, startProvider } from './provider.ts'
import { createScene, type Scene } from './scene.ts'
import { createTraffic, type Traffic } from './traffic.ts'
import { inTwoLanes } from './two-lanes.ts'

const minutes = 60_000
const scenes = takesAll ? 10 : 2
const killsPerScene = takesAll ? 10 : 6
/** In about every third life the kill comes while the daemon starts or recovers. */
const startMs = 700
const trafficMs = 700

let folder: string
let provider: Provider
let kills = 0
let messages = 0
let violations = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-crash-'))
  provider = await startProvider({ folder, chunkDelayMs: 1 })
})

afterAll(async () => {
  console.log(`crash suite: ${kills} random kills, ${messages} messages, ${violations} violations`)
  await provider.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** One life: it starts, recovers, is audited, serves, and is killed from outside at a random moment. */
async function live(scene: Scene, traffic: Traffic, random: Random): Promise<string[]> {
  const child = scene.start()
  const found: string[] = []
  const early = random(3) === 0
  if (early) await wait(random(startMs))
  else {
    found.push(...(await recoverAndAudit(scene, traffic, child)))
    traffic.resume()
    await wait(random(trafficMs))
  }
  await child.kill()
  kills += 1
  return [...found, ...(await scene.fallen(child)), ...(await scene.auditRemains())]
}

async function recoverAndAudit(scene: Scene, traffic: Traffic, child: ReturnType<Scene['start']>): Promise<string[]> {
  if (!(await child.ready)) return [`fallen daemon: it did not start again, ${(await child.ended).errors}`]
  await traffic.pause()
  await scene.settle()
  return scene.audit()
}

async function playScene(seed: number): Promise<string[]> {
  const scene = await createScene({ folder: join(folder, `scene-${seed}`), provider, patienceMs: 10 * minutes })
  const traffic = createTraffic(scene.client, seededRandom(seed))
  // Of its own, so that the moments of the kills do not depend on how far the traffic came.
  const random = seededRandom(seed + scenes)
  const found: string[] = []
  try {
    for (let life = 1; life <= killsPerScene && found.length === 0; life += 1) {
      found.push(...(await live(scene, traffic, random)))
    }
    found.push(...(await recoverAndAudit(scene, traffic, scene.start())))
  } catch (cause) {
    found.push(`stuck: ${cause instanceof Error ? cause.message : String(cause)}`)
  } finally {
    await scene.remove()
  }
  violations += found.length
  messages += scene.client.messages.length
  return found.map((violation) => `scene ${seed}: ${violation}`)
}

describe('SESS-3 SESS-5 killed at any moment', () => {
  test(
    `SESS-5 ${scenes * killsPerScene} times under traffic: nothing lost, nothing twice, nothing that a provider refuses`,
    async () => {
      const seeds = Array.from({ length: scenes }, (_, index) => 1_000 + index)
      expect((await inTwoLanes(seeds, playScene)).flat()).toEqual([])
      expect(kills).toBe(scenes * killsPerScene)
    },
    20 * minutes,
  )
})
