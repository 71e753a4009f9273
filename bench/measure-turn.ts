import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answeringMs, measureReady, throughput, timed } from './contestants/ask-contestants.ts'
import { familiar, loop, prepareHome } from './contestants/contestant.ts'
import { type ProcessUnderTest, startProcess } from './process-under-test.ts'
import { median, percentile, rounded } from './statistics.ts'

const root = join(import.meta.dirname, '..')
/** Long enough to be at home in the processor's caches, short enough to share the machine's moods. */
const turnsInARow = 25
const warmUpTurns = 200

export interface TurnFigures {
  name: string
  readyMs: number
  idleMegabytes: number
  megabytesAfterTurns: number
  /** Message in to reply out, less what the model itself spent on that turn. */
  overheadP50Ms: number
  overheadP95Ms: number
  overheadFirstTurnsMs: number
  overheadLastTurnsMs: number
  turnsPerSecond: number
}

export interface TurnReport {
  turns: number
  sessions: number
  modelP50Ms: number
  contestants: TurnFigures[]
}

/** The contestants take turns in short rows, so that the machine's noise falls on all of them alike. */
export async function measureTurn(options: {
  turns: number
  sessions: number
  say(line: string): void
}): Promise<TurnReport> {
  const { turns, sessions, say } = options
  const model = await startProcess({
    args: [join(root, 'test/support/fake-model/main.ts'), '--default', join(import.meta.dirname, 'echo-message.ts')],
    healthPath: '/v1/models',
  })
  const home = mkdtempSync(join(tmpdir(), 'familiar-bench-'))
  const homeOfTurns = mkdtempSync(join(tmpdir(), 'familiar-bench-'))
  await prepareHome(home, model.url, { keepsConversations: true })
  await prepareHome(homeOfTurns, model.url, { keepsConversations: false })
  const contestants = [
    loop({ name: 'bare loop', file: 'bare-loop.ts', modelUrl: model.url }),
    loop({ name: 'AI SDK', file: 'ai-sdk-loop.ts', modelUrl: model.url }),
    familiar('Familiar', home),
    familiar('Familiar, the turn alone', homeOfTurns),
  ]
  try {
    say('start-up, five times each')
    const readyTimes = await measureReady(contestants)
    const running = await Promise.all(contestants.map((contestant) => contestant.start()))
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const idle = running.map((target) => target.residentMegabytes())

    say(`${warmUpTurns} turns to warm up`)
    for (const [index, contestant] of contestants.entries()) {
      const target = running[index] as ProcessUnderTest
      for (let turn = 1; turn <= warmUpTurns; turn += 1)
        await contestant.chat(target, `warm-${turn % 4}`, `message ${turn}`)
    }

    say(`${turns} turns of one session`)
    const overheads: number[][] = contestants.map(() => [])
    const modelTimes: number[] = []
    let spentBefore = await answeringMs(model.url)
    for (let first = 1; first <= turns; first += turnsInARow) {
      const last = Math.min(turns, first + turnsInARow - 1)
      for (const [index, contestant] of contestants.entries()) {
        const target = running[index] as ProcessUnderTest
        for (let turn = first; turn <= last; turn += 1) {
          const total = await timed(() => contestant.chat(target, 'main', `message number ${turn}`))
          const spent = await answeringMs(model.url)
          modelTimes.push(spent - spentBefore)
          overheads[index]?.push(total - (spent - spentBefore))
          spentBefore = spent
        }
      }
    }
    const afterTurns = running.map((target) => target.residentMegabytes())

    say(`${sessions} sessions at once`)
    const rates: number[] = []
    for (const [index, contestant] of contestants.entries()) {
      const target = running[index] as ProcessUnderTest
      await throughput(contestant, target, sessions, 2)
      rates.push((await throughput(contestant, target, sessions, 20)).turnsPerSecond)
    }
    await Promise.all(running.map((target) => target.stop()))

    return {
      turns,
      sessions,
      modelP50Ms: rounded(median(modelTimes)),
      contestants: contestants.map(({ name }, index) => {
        const own = overheads[index] ?? []
        return {
          name,
          readyMs: rounded(readyTimes[index] ?? 0, 0),
          idleMegabytes: rounded(idle[index] ?? 0, 0),
          megabytesAfterTurns: rounded(afterTurns[index] ?? 0, 0),
          overheadP50Ms: rounded(median(own)),
          overheadP95Ms: rounded(percentile(own, 0.95)),
          overheadFirstTurnsMs: rounded(median(own.slice(10, 60))),
          overheadLastTurnsMs: rounded(median(own.slice(-50))),
          turnsPerSecond: rounded(rates[index] ?? 0, 0),
        }
      }),
    }
  } finally {
    await model.stop()
    await rm(home, { recursive: true, force: true })
    await rm(homeOfTurns, { recursive: true, force: true })
  }
}
