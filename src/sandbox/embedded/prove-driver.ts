import { readlinkSync } from 'node:fs'
import type { SandboxCommand, SandboxOutcome, SandboxProof } from '../sandbox.ts'
import { innerFiles } from './stage.ts'

type Run = (command: SandboxCommand) => Promise<SandboxOutcome>

/** The time limit is long, so that a busy machine passes. */
const limits = { memoryBytes: 32_000_000, processes: 8, wallMs: 30_000, outputBytes: 65_536, scratchBytes: 1_048_576 }

/** A command that needs nothing of this machine. */
export function probe(argv: SandboxCommand['argv'], signal: AbortSignal, limited = limits): SandboxCommand {
  return {
    argv,
    environment: {},
    workingDirectory: '/',
    stdin: new Uint8Array(),
    mounts: [],
    isWritable: true,
    network: { kind: 'none' },
    limits: limited,
    signal,
  }
}

/** Tests each limit. All at once: the slowest takes a quarter of a second. */
export async function proveDriver(options: {
  run: Run
  hostPaths: readonly string[]
  /** False if nothing can limit it. */
  limitsMemory: boolean
  signal: AbortSignal
}): Promise<SandboxProof[]> {
  const { run, signal } = options
  const proofs = await Promise.all([
    proveFacts(run, probe(['sh', `${innerFiles}/facts.sh`, ...options.hostPaths], signal)),
    ...Object.entries(limitProbes).map(async ([name, { argv, changed, holds }]): Promise<SandboxProof[]> => {
      if (name === 'memory' && !options.limitsMemory) return []
      const outcome = await run(probe(argv, signal, { ...limits, ...changed }))
      const ok = holds(outcome)
      const detail = ok ? 'the limit holds' : `the limit was not enforced: ${outcome.end.kind}`
      return [{ name, ok, detail }]
    }),
  ])
  return proofs.flat()
}

interface LimitProbe {
  argv: SandboxCommand['argv']
  changed?: Partial<SandboxCommand['limits']>
  holds(outcome: SandboxOutcome): boolean
}

const forkMany = 'i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done; echo all of them'

const limitProbes: Readonly<Record<string, LimitProbe>> = {
  // Without line ends, tail buffers everything.
  memory: { argv: ['tail', '/dev/zero'], holds: ({ end }) => end.kind === 'out_of_memory' },
  processes: { argv: ['sh', '-c', forkMany], holds: ({ stdout }) => stdout.length === 0 },
  time: {
    argv: ['sh', '-c', 'trap "" TERM INT HUP; sleep 20; sleep 20'],
    changed: { wallMs: 100 },
    holds: ({ end }) => end.kind === 'timed_out',
  },
  output: {
    argv: ['cat', '/dev/zero'],
    holds: ({ end, stdout }) => end.kind === 'output_too_large' && stdout.length === limits.outputBytes,
  },
  disk: {
    argv: ['sh', '-c', 'head -c 3000000 /dev/zero >/tmp/fill && echo all of it'],
    holds: ({ stdout }) => stdout.length === 0,
  },
}

/** The same for the environment of a forked Python. */
export function proveFork(run: Run, hostPaths: readonly string[], signal: AbortSignal): Promise<SandboxProof[]> {
  return proveFacts(run, probe(['python3', `${innerFiles}/facts.py`, ...hostPaths], signal))
}

async function proveFacts(run: Run, command: SandboxCommand): Promise<SandboxProof[]> {
  const { stdout } = await run(command)
  // The namespaces of this machine's own processes; a sandbox must be in others.
  const outside = namespaces.map((name) => readlinkSync(`/proc/self/ns/${name}`))
  return judgeFacts(Buffer.from(stdout).toString(), outside)
}

const namespaces = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'] as const

/** Compares the report of facts.sh with the requirements of every sandbox. */
export function judgeFacts(text: string, outside: readonly string[]): SandboxProof[] {
  const sections = readSections(text)
  if (!sections.has('end')) return [{ name: 'inside', ok: false, detail: 'the sandbox gave no report' }]
  const lines = (name: string) => sections.get(name) ?? []
  const status = new Map(lines('status').map((line): [string, string] => splitAt(line, ':')))

  const inside = lines('namespaces')
  const shared = namespaces.filter((_, index) => !inside[index] || inside[index] === outside[index])
  const interfaces = lines('interfaces').flatMap((line) => (line.includes(':') ? [splitAt(line, ':')[0]] : []))
  const routes = lines('routes').slice(1)
  const [, outerUser] = lines('users')[0]?.trim().split(/\s+/) ?? []
  const settings = lines('writable').filter((path) => path.startsWith('/proc/sys'))
  const folders = lines('writable').filter((path) => !path.startsWith('/proc/sys'))
  const strays = lines('descriptors').flatMap(strayDescriptor)
  const capabilities = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].filter(
    (name) => !/^0+$/.test(status.get(name) ?? ''),
  )

  return [
    proof('namespaces', shared.length === 0, `of its own: ${namespaces.join(', ')}`, `shared: ${shared.join(', ')}`),
    proof(
      'network',
      interfaces.join() === 'lo' && routes.length === 0 && !shared.includes('net'),
      'only its own loopback',
      `found ${[...interfaces, ...routes].join(', ')}`,
    ),
    proof('host files', lines('host').length === 0, 'none visible', `visible: ${lines('host').join(', ')}`),
    proof('not host root', Number(outerUser) > 0, `it is user ${outerUser} outside`, `it is user ${outerUser} outside`),
    proof('capabilities', capabilities.length === 0, 'none', `it has ${capabilities.join(', ')}`),
    proof('no new privileges', status.get('NoNewPrivs') === '1', 'set', 'not set'),
    proof('system call filter', status.get('Seccomp') === '2', 'on', 'off'),
    proof('kernel settings', settings.length === 0, 'not writable', `writable: ${settings.join(', ')}`),
    proof('read-only root', folders.length === 0, 'nothing is writable', `writable: ${folders.join(', ')}`),
    proof('descriptors', strays.length === 0, 'only its own four', `also ${strays.join(', ')}`),
  ]
}

function proof(name: string, ok: boolean, good: string, bad: string): SandboxProof {
  return { name, ok, detail: ok ? good : bad }
}

/** From `3 -> pipe:[1]`, also after the columns of `ls -l`. The process that lists them holds the list itself. */
function strayDescriptor(line: string): string[] {
  const [, number = '', target = ''] = /(\d+) -> (.+)$/.exec(line) ?? []
  if (number === '' || /^\/proc\/\d+\/fd$/.test(target)) return []
  return ['0', '1', '2', '3'].includes(number) ? [] : [`${number} -> ${target}`]
}

function readSections(text: string): Map<string, string[]> {
  const sections = new Map<string, string[]>()
  let current: string[] = []
  for (const line of text.split('\n')) {
    const name = /^== (.+)$/.exec(line)?.[1]
    if (name !== undefined) {
      current = []
      sections.set(name, current)
    } else if (line !== '') current.push(line)
  }
  return sections
}

function splitAt(line: string, mark: string): [string, string] {
  const index = line.indexOf(mark)
  return [line.slice(0, index).trim(), line.slice(index + 1).trim()]
}
