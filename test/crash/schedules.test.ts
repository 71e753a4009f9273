import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scheduleStepNames } from '../../src/daemon/scheduler/deliver-run.ts'
import { createSceneDatabase, type SceneDatabase } from './scene-database.ts'
import { spawnOwned } from './spawn-owned.ts'
import { inTwoLanes } from './two-lanes.ts'

const minutes = 60_000
const program = join(import.meta.dirname, 'schedule-child.ts')

let folder: string
const databases = new Map<string, SceneDatabase>()
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-schedule-crash-'))
  databases.set('prepared', await createSceneDatabase(join(folder, 'prepared')))
  await play('prepared', '2026-11-15T08:00:00Z', 'prepare')
}, minutes)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Report {
  passings: Record<string, number>
  messages: number
  turns: number
  states: string[]
  told: boolean
}

/** Undefined where it killed itself. */
async function play(name: string, time: string, way: string, point: string[] = []): Promise<Report | undefined> {
  const child = spawnOwned([program, join(folder, name), time, way, ...point], databases.get(name)?.testEnv ?? {})
  const said = { out: '', errors: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.errors += chunk
  })
  const [code, signal] = await once(child, 'close')
  if (signal === 'SIGKILL') return undefined
  if (code !== 0) throw new Error(`${name}: ${said.errors}`)
  return JSON.parse(said.out)
}

async function copyOf(name: string): Promise<string> {
  cpSync(join(folder, 'prepared'), join(folder, name), { recursive: true })
  const copy = await databases.get('prepared')?.copy(join(folder, name))
  if (copy) databases.set(name, copy)
  return name
}

describe('SCHED-1 killed while scheduled messages are sent', () => {
  it(
    'SCHED-1 at every step: each message arrives once, makes one turn, and its run says so',
    async () => {
      const counted = await play(await copyOf('counted'), '2026-11-15T09:00:10Z', 'send')
      expect(counted).toMatchObject({ messages: 2, turns: 2, states: ['delivered', 'delivered'], told: true })
      const points = [...scheduleStepNames, 'inbox_committed', 'turn_started', 'turn_ended'].flatMap((step) =>
        Array.from({ length: counted?.passings[step] ?? 0 }, (_, index) => [step, String(index + 1)]),
      )
      expect(points.length).toBe(12)
      const violations = await inTwoLanes(points, async (point) => {
        const name = await copyOf(point.join('-'))
        if (await play(name, '2026-11-15T09:00:10Z', 'send', point)) return [`${name}: the point was not reached`]
        // An hour later what is sent now would read otherwise: it is known by its key, not by its words.
        const after = await play(name, '2026-11-15T10:00:00Z', 'send')
        const isRight = after?.messages === 2 && after.turns === 2 && after.told
        const isClosed = after?.states.every((state) => state === 'delivered' || state === 'late')
        return isRight && isClosed ? [] : [`${name}: ${JSON.stringify(after)}`]
      })
      expect(violations.flat()).toEqual([])
    },
    3 * minutes,
  )
})
