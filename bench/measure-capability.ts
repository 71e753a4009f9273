import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../src/base/logger.ts'
import { createEmbeddedDriver } from '../src/sandbox/embedded/embedded-driver.ts'
import { createSandbox } from '../src/sandbox/sandbox.ts'
import { type CapabilitiesHome, openCapabilities } from '../test/support/capabilities.ts'
import { median, percentile, rounded } from './statistics.ts'

const plain = 'def run(args):\n    return "Hello, " + args["name"]\n'
const numeric = 'import numpy\n\ndef run(args):\n    return "Hello, " + args["name"] * int(numpy.ones(3).sum() / 3)\n'
const scripted = 'export function run(args) {\n  return "Hello, " + args.name\n}\n'
const input = { name: 'Dylan' }
const expected = 'Hello, Dylan'
/** The same work in a bare interpreter. */
const barePython = 'import json, sys\nfrom main import run\nprint(run(json.load(sys.stdin)), end="")\n'
const bareNode =
  'import { readFileSync } from "node:fs"\nimport { run } from "./main.js"\nprocess.stdout.write(run(JSON.parse(readFileSync(0, "utf8"))))\n'
const warmUpCalls = 10

type Kind = 'no dependencies' | 'numpy' | 'node'

interface Contestant {
  kind: Kind
  name: string
  call(): Promise<string>
}

interface CapabilityFigures {
  capability: Kind
  name: string
  calls: number
  p50Ms: number
  p95Ms: number
  /** Of the median, to that of the bare interpreter with the same packages. */
  ratio: number
}

/** Capabilities called in turn with bare interpreters that do the same, so that the machine's noise falls on all alike. */
export async function measureCapability(options: {
  calls: number
  say(line: string): void
}): Promise<{ contestants: CapabilityFigures[]; missing: string[] }> {
  const { calls, say } = options
  const folder = mkdtempSync(join(tmpdir(), 'familiar-bench-'))
  const missing: string[] = []
  const opened: (() => Promise<void>)[] = []
  // Warm sandboxes do not keep the process alive, and nothing else does while they start.
  const awake = setInterval(() => {}, 60_000)

  async function open(forkServer: 'off' | 'eager', wheels: string): Promise<CapabilitiesHome> {
    const driver = createEmbeddedDriver({ directory: join(folder, forkServer), logger: silentLogger, forkServer })
    const sandbox = createSandbox(async () => [driver])
    const packageIndex = {
      hosts: [],
      arguments: ['--no-index', '--find-links', '/wheels'],
      mounts: [{ source: wheels, target: '/wheels' }],
    }
    const home = await openCapabilities({ sandbox, packageIndex })
    opened.push(home.close, sandbox.close)
    return home
  }

  try {
    const wheels = join(folder, 'wheels')
    mkdirSync(wheels)
    const hasNumpy = fetchNumpy(wheels, (reason) => missing.push(reason))
    say('the sandboxes test themselves')
    const cold = await open('off', wheels)
    const warm = await open('eager', wheels)
    const packages = hasNumpy ? await buildNumpy(cold) : undefined

    const contestants: Contestant[] = [
      bare('no dependencies', join(folder, 'plain'), { 'main.py': plain, 'call.py': barePython }),
      called('no dependencies', 'cold', cold, plain),
      called('no dependencies', 'warm', warm, plain),
      ...(packages === undefined
        ? []
        : [
            bare('numpy', join(folder, 'numeric'), { 'main.py': numeric, 'call.py': barePython }, packages),
            called('numpy', 'cold', cold, numeric),
            called('numpy', 'warm', warm, numeric),
          ]),
      bare('node', join(folder, 'scripted'), { 'main.js': scripted, 'call.mjs': bareNode }),
      called('node', 'cold', cold, scripted),
    ]
    say(`${calls} calls each, ${warmUpCalls} before them`)
    const times = new Map<Contestant, number[]>(contestants.map((contestant) => [contestant, []]))
    for (let round = -warmUpCalls; round < calls; round += 1) {
      for (const contestant of contestants) {
        const start = performance.now()
        const returned = await contestant.call()
        const took = performance.now() - start
        if (returned !== expected) throw new Error(`${contestant.kind}, ${contestant.name} returned ${returned}`)
        if (round >= 0) times.get(contestant)?.push(took)
      }
    }
    return { contestants: contestants.map((contestant) => figuresOf(contestant, times)), missing }
  } finally {
    clearInterval(awake)
    for (const close of opened) await close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function figuresOf(contestant: Contestant, times: ReadonlyMap<Contestant, number[]>): CapabilityFigures {
  const own = times.get(contestant) ?? []
  // The first of each kind is the bare interpreter.
  const [, ofBare = []] = [...times].find(([{ kind }]) => kind === contestant.kind) ?? []
  return {
    capability: contestant.kind,
    name: contestant.name,
    calls: own.length,
    p50Ms: rounded(median(own)),
    p95Ms: rounded(percentile(own, 0.95)),
    ratio: rounded(median(own) / median(ofBare)),
  }
}

/** Downloads with the pip of this machine, from the index of its configuration. */
function fetchNumpy(directory: string, onMissing: (reason: string) => void): boolean {
  try {
    const given = ['-m', 'pip', 'download', '--quiet', '--only-binary', ':all:', '--dest', directory, 'numpy']
    execFileSync('/usr/bin/python3', given, { stdio: ['ignore', 'ignore', 'pipe'] })
    return true
  } catch (cause) {
    onMissing(`numpy: ${cause instanceof Error ? cause.message.trim().split('\n').at(-1) : cause}`)
    return false
  }
}

async function buildNumpy(home: CapabilitiesHome): Promise<string> {
  const build = await home.packages.build(['numpy'], AbortSignal.timeout(300_000))
  if (!build.ok) throw new Error(build.problem)
  return build.directory
}

function called(kind: Kind, name: string, home: CapabilitiesHome, code: string): Contestant {
  const runtime = kind === 'node' ? 'node' : 'python'
  const runnable = home.runnable(code, { runtime, requirements: kind === 'numpy' ? ['numpy'] : [] })
  return {
    kind,
    name: `capability, ${name}`,
    async call() {
      const run = await home.run(runnable, input)
      return run.ok ? run.text : String(run.error)
    },
  }
}

/** The same interpreter, started by this program with nothing around it. */
function bare(kind: Kind, directory: string, files: Record<string, string>, packages = ''): Contestant {
  mkdirSync(directory)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const [program, script] = kind === 'node' ? [process.execPath, 'call.mjs'] : ['/usr/bin/python3', 'call.py']
  return {
    kind,
    name: `${kind === 'node' ? 'node' : 'python3'}, no sandbox`,
    async call() {
      const child = spawn(program, [join(directory, script)], {
        stdio: ['pipe', 'pipe', 'ignore'],
        env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' },
      })
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
      child.stdin.end(JSON.stringify(input))
      await once(child, 'close')
      return printed
    },
  }
}
