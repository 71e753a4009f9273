import type { SandboxCommand, SandboxOutcome, SandboxProof } from '../../sandbox.ts'
import { innerFiles } from '../stage/open-stage.ts'
import { hostNamespaces, judgeFacts } from './judge-facts.ts'

type Run = (command: SandboxCommand) => Promise<SandboxOutcome>

/** The time is long: a machine that is busy has nothing wrong with it. */
const limits = { memoryBytes: 32_000_000, processes: 8, wallMs: 30_000, outputBytes: 65_536, scratchBytes: 1_048_576 }

function probe(
  argv: SandboxCommand['argv'],
  signal: AbortSignal,
  changed: Partial<SandboxCommand['limits']> = {},
): SandboxCommand {
  return {
    argv,
    environment: {},
    workingDirectory: '/',
    stdin: new Uint8Array(),
    mounts: [],
    isWritable: true,
    network: { kind: 'none' },
    limits: { ...limits, ...changed },
    signal,
  }
}

/** Runs what tries each limit and sees whether it holds. All at once: the slowest of them takes a quarter of a second. */
export async function proveDriver(options: {
  run: Run
  hostPaths: readonly string[]
  /** False where there is nothing that could limit it. */
  limitsMemory: boolean
  signal: AbortSignal
}): Promise<SandboxProof[]> {
  const { run, signal } = options
  const proofs = await Promise.all([
    proveFacts(run, probe(['sh', `${innerFiles}/facts.sh`, ...options.hostPaths], signal)),
    options.limitsMemory ? proveMemory(run, signal) : [],
    proveProcesses(run, signal),
    proveTime(run, signal),
    proveOutput(run, signal),
    proveDisk(run, signal),
  ])
  return proofs.flat()
}

/** The same for what a forked Python finds around it. */
export function proveFork(run: Run, hostPaths: readonly string[], signal: AbortSignal): Promise<SandboxProof[]> {
  return proveFacts(run, probe(['python3', `${innerFiles}/facts.py`, ...hostPaths], signal))
}

async function proveFacts(run: Run, command: SandboxCommand): Promise<SandboxProof[]> {
  const { stdout } = await run(command)
  return judgeFacts(Buffer.from(stdout).toString(), hostNamespaces())
}

/** With no line to end, tail keeps everything. */
async function proveMemory(run: Run, signal: AbortSignal): Promise<SandboxProof[]> {
  const outcome = await run(probe(['tail', '/dev/zero'], signal))
  return [proofOf('memory', outcome, outcome.end.kind === 'out_of_memory')]
}

const forkMany = 'i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done; echo all of them'

async function proveProcesses(run: Run, signal: AbortSignal): Promise<SandboxProof[]> {
  const outcome = await run(probe(['sh', '-c', forkMany], signal))
  return [proofOf('processes', outcome, outcome.stdout.length === 0)]
}

async function proveTime(run: Run, signal: AbortSignal): Promise<SandboxProof[]> {
  const outcome = await run(probe(['sh', '-c', 'trap "" TERM INT HUP; sleep 20; sleep 20'], signal, { wallMs: 100 }))
  return [proofOf('time', outcome, outcome.end.kind === 'timed_out')]
}

async function proveOutput(run: Run, signal: AbortSignal): Promise<SandboxProof[]> {
  const outcome = await run(probe(['cat', '/dev/zero'], signal))
  const isCut = outcome.end.kind === 'output_too_large' && outcome.stdout.length === limits.outputBytes
  return [proofOf('output', outcome, isCut)]
}

async function proveDisk(run: Run, signal: AbortSignal): Promise<SandboxProof[]> {
  const outcome = await run(probe(['sh', '-c', 'head -c 3000000 /dev/zero >/tmp/fill && echo all of it'], signal))
  return [proofOf('disk', outcome, outcome.stdout.length === 0)]
}

function proofOf(name: string, { end }: SandboxOutcome, ok: boolean): SandboxProof {
  return { name, ok, detail: ok ? 'the limit holds' : `the limit did not hold: ${end.kind}` }
}
