import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type StepName, stepNames } from '../../src/agent/next-step.ts'
import { testEngine } from '../support/open-test-database.ts'
import { chosenPassings, takesAll } from './chosen-passings.ts'
import type { Client } from './client.ts'
import { thinkingSource } from './crash-home.ts'
import { errand } from './errand.ts'
import { type Provider, startProvider } from './provider.ts'
import { createScene, type Scene } from './scene.ts'
import type { CrashPoint } from './start-child.ts'
import { inTwoLanes } from './two-lanes.ts'

const minutes = 60_000
/** On PostgreSQL a usual run takes those that differ most in what is written when; the others take too long. */
const fewSteps: readonly StepName[] = ['turn_started', 'response_received', 'tool_ran', 'turn_ended']
const steps = testEngine === 'postgres' && !takesAll ? fewSteps : stepNames

let folder: string
let provider: Provider
let prepared: Scene
let passings: Record<StepName, number>
const covered: { point: string; violations: string[] }[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-crash-'))
  provider = await startProvider({ folder })
  prepared = await prepareScene()
  passings = await countPassings()
}, 5 * minutes)

afterAll(async () => {
  const violations = covered.flatMap((point) => point.violations).length
  console.log(`crash suite on ${testEngine}: ${steps.length} steps, ${covered.length} points, ${violations} violations`)
  await prepared.remove()
  await provider.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A home with a past: one session is just short of the length at which a snapshot of it is written. */
async function prepareScene(): Promise<Scene> {
  const scene = await createScene({ folder: join(folder, 'prepared'), provider, patienceMs: 5 * minutes })
  const child = scene.start()
  for (let number = 1; number <= 12; number += 1) {
    const plan = { rounds: 'charge,fetch_page,put_value|print_page,charge' }
    await scene.client.chat({ errand: errand(number, plan), session: 'long' })
  }
  await scene.client.chat({ errand: errand(13, { rounds: 'charge' }), session: 'short', source: thinkingSource })
  await scene.settle()
  await child.stop()
  expect(await scene.audit()).toEqual([])
  expect((await scene.database.recorded()).snapshots).toEqual([])
  return scene
}

/** Two sessions side by side: parallel and serial tools, a compaction, a snapshot; thinking, a question, its answer. */
async function play({ notify, chat, chatOnce }: Client): Promise<void> {
  const plan = { rounds: 'charge,fetch_page,put_value|print_page,charge', fills: true }
  const long = notify({ errand: errand(21, plan), session: 'long' })
  const short = { session: 'short', source: thinkingSource }
  await chat({ errand: errand(22, { rounds: 'charge,put_value', asks: true }), ...short })
  await chatOnce({ errand: errand(23, { rounds: 'charge' }), ...short })
  await long
}

async function countPassings(): Promise<Record<StepName, number>> {
  const scene = await createScene({
    folder: join(folder, 'counted'),
    provider,
    from: prepared,
    patienceMs: 5 * minutes,
  })
  const child = scene.start()
  await play(scene.client)
  await scene.settle()
  const counted = await child.stop()
  expect(await scene.audit()).toEqual([])
  expect((await scene.database.recorded()).snapshots).toHaveLength(1)
  return counted
}

/** Kills the daemon at the point, looks at what it left, starts it again and looks at what came of it. */
async function crashAt(scene: Scene, point: CrashPoint): Promise<string[]> {
  const doomed = scene.start(point)
  const played = play(scene.client)
  const quiet = played.then(() => scene.settle())
  // The wait below reports a failure; it need not be reported twice.
  quiet.catch(() => undefined)
  const fell = await Promise.race([doomed.ended.then(() => true), quiet.then(() => false)])
  if (!fell) return ['unreached point: all was done without passing it']
  const violations = [...(await scene.fallen(doomed)), ...(await scene.auditRemains())]
  const heir = scene.start()
  if (!(await heir.ready)) return [...violations, `fallen daemon: it did not start again, ${(await heir.ended).errors}`]
  await played
  await scene.settle()
  return [...violations, ...(await scene.audit())]
}

async function violationsAt(point: CrashPoint): Promise<string[]> {
  const name = `${point.step}-${point.passing}`
  const scene = await createScene({ folder: join(folder, name), provider, from: prepared, patienceMs: 2 * minutes })
  try {
    return await crashAt(scene, point)
  } catch (cause) {
    return [`stuck: ${cause instanceof Error ? cause.message : String(cause)}`]
  } finally {
    await scene.remove()
  }
}

describe('SESS-3 SESS-5 killed at a durable step', () => {
  test.each(steps)(
    'SESS-5 at the passings of %s: nothing lost, nothing twice, nothing that a provider refuses',
    async (step) => {
      expect(passings[step], `the script never reaches ${step}`).toBeGreaterThan(0)
      const points = chosenPassings(passings[step]).map((passing) => ({ step, passing }))
      const results = await inTwoLanes(points, async (point) => {
        const result = { point: `${point.step} ${point.passing}`, violations: await violationsAt(point) }
        covered.push(result)
        return result
      })
      expect(results.filter(({ violations }) => violations.length > 0)).toEqual([])
    },
    10 * minutes,
  )
})
