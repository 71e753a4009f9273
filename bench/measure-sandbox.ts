import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../src/base/logger.ts'
import { createEmbeddedDriver } from '../src/sandbox/embedded/embedded-driver.ts'
import type { SandboxCommand, SandboxDriver } from '../src/sandbox/sandbox.ts'
import { median, percentile, rounded } from './statistics.ts'

/** As a tool does it: arguments as JSON in, an answer as JSON out. */
const script = `
import json, sys
arguments = json.load(sys.stdin)
print(json.dumps({"text": "Hello, " + arguments["name"]}))
`
const payload = Buffer.from(JSON.stringify({ name: 'Dylan' }))
const expected = '{"text": "Hello, Dylan"}\n'
const warmUpCalls = 10

interface Contestant {
  name: string
  call(): Promise<string>
  close(): Promise<void>
  /** Called only every so often: it is slower by an order of magnitude. */
  every: number
}

export interface SandboxFigures {
  name: string
  calls: number
  p50Ms: number
  p95Ms: number
  /** Of the median, to that of the bare interpreter. */
  ratio: number
}

export interface SandboxReport {
  contestants: SandboxFigures[]
  /** The contestants that could not take part, with the reason. */
  missing: string[]
}

/** A Python tool, called again and again by one after the other, so that the machine's noise falls on all of them alike. */
export async function measureSandbox(options: {
  calls: number
  /** Of a container engine that is not in its usual place. */
  socketPath: string | null
  say(line: string): void
}): Promise<SandboxReport> {
  const { calls, say } = options
  const folder = mkdtempSync(join(tmpdir(), 'familiar-bench-'))
  const tool = join(folder, 'tool')
  mkdirSync(tool)
  writeFileSync(join(tool, 'handler.py'), script)
  const contestants: Contestant[] = [bareInterpreter(join(tool, 'handler.py'))]
  const missing: string[] = []

  async function add(name: string, driver: SandboxDriver, every = 1): Promise<void> {
    say(`${name}: its own test`)
    const test = await driver.test(AbortSignal.timeout(120_000))
    if (test.ok) contestants.push(sandboxed({ name, driver, tool, every }))
    else {
      missing.push(`${name}: ${test.reason}`)
      await driver.close()
    }
  }

  // Warm sandboxes do not keep the process alive, and nothing else does while they start.
  const awake = setInterval(() => {}, 60_000)
  try {
    const embedded = { directory: join(folder, 'embedded'), logger: silentLogger }
    await add('embedded, cold', createEmbeddedDriver({ ...embedded, forkServer: 'off' }))
    await add('embedded, fork server', createEmbeddedDriver({ ...embedded, forkServer: 'eager' }))
    const { createContainerDriver } = await import('../src/sandbox/container/container-driver.ts')
    const places = { socketPath: options.socketPath, runtimeDirectory: null, directory: folder }
    await add('container engine', createContainerDriver(places), 10)

    say(`${calls} calls each, ${warmUpCalls} before them`)
    const times: number[][] = contestants.map(() => [])
    for (let round = -warmUpCalls; round < calls; round += 1) {
      for (const [index, contestant] of contestants.entries()) {
        if (round % contestant.every !== 0) continue
        const start = performance.now()
        const printed = await contestant.call()
        const took = performance.now() - start
        if (printed !== expected) throw new Error(`${contestant.name} printed ${printed}`)
        if (round >= 0) times[index]?.push(took)
      }
    }
    const bare = median(times[0] ?? [])
    return {
      contestants: contestants.map(({ name }, index) => {
        const own = times[index] ?? []
        return {
          name,
          calls: own.length,
          p50Ms: rounded(median(own)),
          p95Ms: rounded(percentile(own, 0.95)),
          ratio: rounded(median(own) / bare),
        }
      }),
      missing,
    }
  } finally {
    clearInterval(awake)
    for (const contestant of contestants) await contestant.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The same interpreter, started by this program with nothing around it. */
function bareInterpreter(path: string): Contestant {
  return {
    name: 'python3, no sandbox',
    every: 1,
    async call() {
      const child = spawn('/usr/bin/python3', [path], {
        stdio: 'pipe',
        env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' },
      })
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
      child.stderr.resume()
      child.stdin.end(payload)
      await once(child, 'close')
      return printed
    },
    async close() {},
  }
}

function sandboxed(options: { name: string; driver: SandboxDriver; tool: string; every: number }): Contestant {
  const { driver } = options
  const command: SandboxCommand = {
    argv: ['python3', '/tool/handler.py'],
    environment: {},
    workingDirectory: '/tool',
    stdin: payload,
    mounts: [{ source: options.tool, target: '/tool' }],
    isWritable: true,
    network: { kind: 'none' },
    limits: { memoryBytes: 256e6, processes: 32, wallMs: 60_000, outputBytes: 1e6, scratchBytes: 16e6 },
    signal: new AbortController().signal,
  }
  return {
    name: options.name,
    every: options.every,
    async call() {
      const { end, stdout, stderr } = await driver.run(command)
      if (end.kind !== 'exited') throw new Error(`${options.name} ended as ${end.kind}: ${Buffer.from(stderr)}`)
      return Buffer.from(stdout).toString()
    },
    close: () => driver.close(),
  }
}
