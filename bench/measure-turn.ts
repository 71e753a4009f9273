import { mkdtempSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ProcessUnderTest, startProcess } from './process-under-test.ts'
import { median, percentile, rounded } from './statistics.ts'

const root = join(import.meta.dirname, '..')
/** Long enough to be at home in the processor's caches, short enough to share the machine's moods. */
const turnsInARow = 25
const warmUpTurns = 200
const token = 'bench-token-of-at-least-two-hundred-and-fifty-six-bits-0123456789'

interface Contestant {
  name: string
  start(): Promise<ProcessUnderTest>
  chat(target: ProcessUnderTest, session: string, message: string): Promise<void>
}

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
    loop('bare loop', 'bare-loop.ts', model.url),
    loop('AI SDK', 'ai-sdk-loop.ts', model.url),
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
      rates.push(await throughput(contestant, target, sessions, 20))
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

async function measureReady(contestants: readonly Contestant[]): Promise<number[]> {
  const times: number[][] = contestants.map(() => [])
  for (let run = 0; run < 5; run += 1) {
    for (const [index, contestant] of contestants.entries()) {
      const target = await contestant.start()
      times[index]?.push(target.readyMs)
      await target.stop()
    }
  }
  return times.map(median)
}

async function throughput(
  contestant: Contestant,
  target: ProcessUnderTest,
  sessions: number,
  turns: number,
): Promise<number> {
  const start = performance.now()
  await Promise.all(
    Array.from({ length: sessions }, async (_, session) => {
      for (let turn = 0; turn < turns; turn += 1) await contestant.chat(target, `s${session}`, `message ${turn}`)
    }),
  )
  return (sessions * turns) / ((performance.now() - start) / 1_000)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** What the model itself has spent on its answers so far. */
async function answeringMs(url: string): Promise<number> {
  const stats = (await (await fetch(`${url}/fake/stats`)).json()) as { answeringMs: number }
  return stats.answeringMs
}

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
}

function loop(name: string, file: string, modelUrl: string): Contestant {
  return {
    name,
    start: () => startProcess({ args: [join(import.meta.dirname, 'contestants', file), modelUrl, '0'] }),
    chat: (target, session, message) => post(target.url, { message, session }),
  }
}

function familiar(name: string, home: string): Contestant {
  const env = {
    FAMILIAR_HOME: home,
    FAMILIAR_TOKEN: token,
    FAKE_KEY: 'none',
  }
  const args = [join(root, 'bin/familiar'), 'serve', '--port', '0']
  return {
    name,
    start: () => startProcess({ args, env, healthPath: '/api/v1/status' }),
    chat: (target, session, message) =>
      post(`${target.url}/api/v1/chat`, { message, session }, { authorization: `Bearer ${token}` }),
  }
}

async function prepareHome(
  home: string,
  modelUrl: string,
  { keepsConversations }: { keepsConversations: boolean },
): Promise<void> {
  await mkdir(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
  const provider = [
    'type = "openai-compatible"',
    `base_url = "${modelUrl}/v1"`,
    'api_key_env = "FAKE_KEY"',
    '[models.main]',
    'model = "fake-model"',
    'cost_per_mtok = [0.003, 0.015, 0.0003, 0.00375]',
  ]
  writeFileSync(join(home, 'providers.d', 'fake.toml'), provider.join('\n'))
  const settings = [
    '[routes]\nprimary = "fake/main"',
    '[http]\nrate_limit_per_minute = 10000000',
    '[sessions]\nmax_concurrent_turns = 50',
    // Learning would ask the same model between the turns, and the embedding has a bench of its own.
    `[memory]\nextraction = false\nconversations = ${keepsConversations}`,
    '[memory.embedding]\nprovider = "off"',
  ]
  writeFileSync(join(home, 'familiar.toml'), settings.join('\n'))
}
