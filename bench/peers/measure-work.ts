import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answeringMs, throughput, timed } from '../contestants/ask-contestants.ts'
import type { Contestant } from '../contestants/contestant.ts'
import { type ProcessUnderTest, startProcess } from '../process-under-test.ts'
import { median, percentile, rounded } from '../statistics.ts'
import { toolCue } from './answer.ts'
import { createPeerContestants } from './peer-contestants.ts'

const root = join(import.meta.dirname, '../..')
const turnsInARow = 20
const warmUpTurns = 100
const startUps = 3
const turnsPerSession = 10

export interface Spread {
  p50Ms: number
  p95Ms: number
}

export interface WorkFigures {
  name: string
  /** From the start of the process until it says that it is there, and until its first reply. */
  readyMs: number
  firstReplyMs: number
  idleMegabytes: number
  megabytesAfterWork: number
  /** Message in to reply out over HTTP, less what the model spent on that turn. */
  overHttp: Spread
  /** The same measured inside of the process; null for the daemon, which has nothing inside to ask. */
  inProcess: Spread | null
  /** A turn with one call of a tool: two requests to the model. */
  toolTurn: Spread
  /** Of all its threads, for one turn of the long session. */
  processorMsPerTurn: number
  /** Many sessions at once: the rate, and how long the slowest in twenty waited. */
  turnsPerSecond: number
  atOnceP95Ms: number
}

interface Running {
  contestant: Contestant
  target: ProcessUnderTest
  outside: number[]
  inside: number[]
  toolTurns: number[]
  processorMs: number
}

/** The contestants work in short rows by turns, so that the machine's noise falls on all of them alike. */
export async function measureWork(options: {
  turns: number
  sessions: number
  say(line: string): void
}): Promise<{ modelP50Ms: number; figures: WorkFigures[] }> {
  const { turns, sessions, say } = options
  const model = await startProcess({
    args: [join(root, 'test/support/fake-model/main.ts'), '--default', join(import.meta.dirname, 'answer.ts')],
    healthPath: '/v1/models',
  })
  const folder = mkdtempSync(join(tmpdir(), 'familiar-bench-peers-'))
  const running: Running[] = []
  try {
    const contestants = await createPeerContestants(model.url, folder)
    say(`start-up, ${startUps} times each`)
    const ready = await measureStarts(contestants)
    for (const contestant of contestants)
      running.push({
        contestant,
        target: await contestant.start(),
        outside: [],
        inside: [],
        toolTurns: [],
        processorMs: 0,
      })
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const idle = running.map(({ target }) => target.residentMegabytes())

    say(`${warmUpTurns} turns to warm up, ${turns} turns of one session, ${turns / 4} turns with a tool`)
    for (const { contestant, target } of running)
      for (let turn = 1; turn <= warmUpTurns; turn += 1)
        await contestant.chat(target, `warm-${turn % 4}`, `${turn % 5 === 0 ? toolCue : 'message'} ${turn}`)
    const modelTimes = await takeTurns(running, model.url, turns)
    await takeToolTurns(running, model.url, Math.round(turns / 4))
    const afterWork = running.map(({ target }) => target.residentMegabytes())

    say(`${sessions} sessions at once`)
    const rates: { turnsPerSecond: number; p95Ms: number }[] = []
    for (const { contestant, target } of running) {
      await throughput(contestant, target, sessions, 2)
      rates.push(await bestOfTwo(() => throughput(contestant, target, sessions, turnsPerSession)))
    }
    const figures = running.map(({ contestant: { name }, outside, inside, toolTurns, processorMs }, index) => ({
      name,
      readyMs: rounded(ready[index]?.readyMs ?? 0, 0),
      firstReplyMs: rounded(ready[index]?.firstReplyMs ?? 0, 0),
      idleMegabytes: rounded(idle[index] ?? 0, 0),
      megabytesAfterWork: rounded(afterWork[index] ?? 0, 0),
      overHttp: spread(outside),
      inProcess: inside.length > 0 ? spread(inside) : null,
      toolTurn: spread(toolTurns),
      processorMsPerTurn: rounded(processorMs / turns),
      turnsPerSecond: rounded(rates[index]?.turnsPerSecond ?? 0, 0),
      atOnceP95Ms: rounded(rates[index]?.p95Ms ?? 0, 0),
    }))
    return { modelP50Ms: rounded(median(modelTimes)), figures }
  } finally {
    await Promise.all(running.map(({ target }) => target.stop()))
    await model.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureStarts(contestants: readonly Contestant[]): Promise<{ readyMs: number; firstReplyMs: number }[]> {
  const seen = contestants.map(() => ({ ready: [] as number[], firstReply: [] as number[] }))
  for (let run = 0; run < startUps; run += 1) {
    for (const [index, contestant] of contestants.entries()) {
      const target = await contestant.start()
      const first = await timed(() => contestant.chat(target, `start-${run}`, 'hello'))
      await target.stop()
      seen[index]?.ready.push(target.readyMs)
      seen[index]?.firstReply.push(target.readyMs + first)
    }
  }
  return seen.map(({ ready, firstReply }) => ({ readyMs: median(ready), firstReplyMs: median(firstReply) }))
}

/** Returns what the model spent on each turn. */
async function takeTurns(running: readonly Running[], modelUrl: string, turns: number): Promise<number[]> {
  const modelTimes: number[] = []
  for (let first = 1; first <= turns; first += turnsInARow) {
    for (const one of running) {
      const before = one.target.processorMs()
      for (let turn = first; turn < first + turnsInARow && turn <= turns; turn += 1) {
        const { spent, outside, inside } = await oneTurn(one, modelUrl, { session: 'main', message: `message ${turn}` })
        modelTimes.push(spent)
        one.outside.push(outside)
        if (inside !== null) one.inside.push(inside)
      }
      one.processorMs += one.target.processorMs() - before
    }
  }
  return modelTimes
}

async function takeToolTurns(running: readonly Running[], modelUrl: string, turns: number): Promise<void> {
  for (let first = 1; first <= turns; first += turnsInARow)
    for (const one of running)
      for (let turn = first; turn < first + turnsInARow && turn <= turns; turn += 1) {
        const { outside } = await oneTurn(one, modelUrl, { session: 'tools', message: `${toolCue} ${turn}` })
        one.toolTurns.push(outside)
      }
}

async function oneTurn(
  { contestant, target }: Running,
  modelUrl: string,
  { session, message }: { session: string; message: string },
): Promise<{ spent: number; outside: number; inside: number | null }> {
  const before = await answeringMs(modelUrl)
  let inside: number | null = null
  const total = await timed(async () => {
    inside = await contestant.chat(target, session, message)
  })
  const spent = (await answeringMs(modelUrl)) - before
  return { spent, outside: total - spent, inside: inside === null ? null : inside - spent }
}

/** Other load on the machine can only make it slower. */
async function bestOfTwo(measure: () => Promise<{ turnsPerSecond: number; p95Ms: number }>) {
  const [first, second] = [await measure(), await measure()]
  return first.turnsPerSecond > second.turnsPerSecond ? first : second
}

function spread(times: readonly number[]): Spread {
  return { p50Ms: rounded(median(times)), p95Ms: rounded(percentile(times, 0.95)) }
}
