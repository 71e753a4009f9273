import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSceneDatabase, type SceneDatabase } from './scene-database.ts'
import { spawnOwned } from './spawn-owned.ts'
import { inTwoLanes } from './two-lanes.ts'

/** A step, and which passing of it. */
type Point = [string, string]

/**
 * Runs a program that kills itself at a step of a turn (`home step passing`), and runs it again in the same home. Its
 * final output must be the same as without a kill, except for `passings`, which counts the steps.
 */
export function openKillBench(program: string) {
  const folder = mkdtempSync(join(tmpdir(), 'familiar-killed-'))
  const databases = new Map<string, Promise<SceneDatabase>>()
  let whole: object = {}

  /** Undefined where it killed itself. */
  async function play(name: string, point: readonly string[] = []) {
    const home = join(folder, name)
    const database = databases.get(name) ?? createSceneDatabase(home)
    databases.set(name, database)
    const child = spawnOwned([program, home, ...point], (await database).testEnv)
    const said = { out: '', errors: '' }
    child.stdout.on('data', (chunk) => {
      said.out += chunk
    })
    child.stderr.on('data', (chunk) => {
      said.errors += chunk
    })
    const signal = await new Promise((resolve) => child.once('close', (_code, by) => resolve(by)))
    if (signal === 'SIGKILL') return undefined
    if (!said.out) throw new Error(said.errors)
    const { passings, ...report } = JSON.parse(said.out.trim().split('\n').at(-1) ?? '')
    return { passings: passings as Record<string, number>, report: report as object }
  }

  return {
    async count(): Promise<{ whole: object; points: Point[] }> {
      const counted = await play('counted')
      whole = counted?.report ?? {}
      const points = Object.entries(counted?.passings ?? {}).flatMap(([step, count]) =>
        Array.from({ length: count }, (_, index): Point => [step, String(index + 1)]),
      )
      return { whole, points }
    },
    /** Unexpected results. */
    async killAt(points: readonly Point[]): Promise<string[]> {
      const violations = await inTwoLanes([...points], async (point) => {
        const name = point.join('-')
        if (await play(name, point)) return [`${name}: the point was not reached`]
        const after = await play(name)
        await (await databases.get(name))?.remove()
        rmSync(join(folder, name), { recursive: true, force: true })
        const told = JSON.stringify(after?.report)
        return told === JSON.stringify(whole) ? [] : [`${name}: ${told}`]
      })
      return violations.flat()
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
