import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chosenPassings, takesAll } from '../crash/chosen-passings.ts'
import { spawnOwned } from '../crash/spawn-owned.ts'
import { inTwoLanes } from '../crash/two-lanes.ts'

const minutes = 60_000
const program = join(import.meta.dirname, 'policy-crash-child.ts')

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-policy-'))
  await play('prepared', 'prepare')
}, 2 * minutes)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Report {
  passings: Record<string, number>
  states: string[]
}

/** Undefined where it killed itself. */
async function play(name: string, way: string, point: string[] = []): Promise<Report | undefined> {
  const home = join(folder, name)
  if (!existsSync(home) && way !== 'prepare') cpSync(join(folder, 'prepared'), home, { recursive: true })
  const child = spawnOwned([program, home, `${home}.ledger`, way, ...point], {})
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
  return JSON.parse(said.out.trim().split('\n').at(-1) ?? '')
}

function sentIn(name: string): number {
  const ledger = join(folder, `${name}.ledger`)
  return existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').length - 1 : 0
}

describe.each(takesAll ? ['words', 'elsewhere'] : ['elsewhere'])(
  'SEC-16 killed between question, answer and use, answered by %s',
  (way) => {
    it(
      'SEC-16 at its steps: the call is made once at most, its approval is used up, and the next is asked about',
      async () => {
        // Any step that is never reached: all is played but for the question after it.
        const counted = await play(`counted-${way}`, way, ['none'])
        expect(counted?.states).toEqual(['used'])
        expect(sentIn(`counted-${way}`)).toBe(1)
        const points = Object.entries(counted?.passings ?? {}).flatMap(([step, count]) =>
          firstAndChosen(count).map((passing) => [step, String(passing)]),
        )
        expect(points.length).toBeGreaterThan(12)
        const violations = await inTwoLanes(points, async (point) => {
          const name = [way, ...point].join('-')
          if (await play(name, way, point)) return [`${name}: the point was not reached`]
          const after = await play(name, way)
          rmSync(join(folder, name), { recursive: true, force: true })
          // Killed after it was written as started, its outcome is unknown: it is not made again.
          const wasBegun = ['response_recorded', 'tool_starting', 'tool_ran'].includes(point[0] ?? '')
          const isMade = sentIn(name) === 1 || (wasBegun && sentIn(name) === 0)
          const isRight = isMade && after?.states.join() === 'used,asked'
          return isRight ? [] : [`${name}: sent ${sentIn(name)} times, ${after?.states.join()}`]
        })
        expect(violations.flat()).toEqual([])
      },
      10 * minutes,
    )
  },
)

/** There are few of them, so the first one of each is taken, too. */
function firstAndChosen(count: number): number[] {
  return count === 0 ? [] : [...new Set([1, ...chosenPassings(count)])]
}
