import { randomUUID } from 'node:crypto'
import type { SandboxDriver, SandboxOutcome } from '../../../src/sandbox/sandbox.ts'
import {
  bearing,
  type CommandChanges,
  megabyte,
  newMark,
  processesMarked,
  python,
  textOf,
} from '../../contract/sandbox-support.ts'
import type { ProbeReport } from './run-probes.ts'

interface ExhaustionProbe {
  name: string
  attempt: string
  source: string
  changes?: CommandChanges
  /** The escape, or undefined. `printed` is without the line that proves the run. */
  judge(outcome: SandboxOutcome, printed: string): string | undefined
  /** Whether it prints a number at the end. Unless memory ran out it must get there, or it broke on the way. */
  counts?: true
}

/** Each stops by itself where nothing stops it, well before it hurts this machine. */
const exhaustionProbes: ExhaustionProbe[] = [
  {
    name: 'fork-bomb',
    counts: true,
    attempt: 'start more processes than are allowed',
    source: `
import os, time
count = 1
try:
    while count < 300:
        if os.fork() == 0:
            time.sleep(600)
        count += 1
except OSError:
    pass
print(count, flush=True)
os._exit(0)
`,
    changes: { limits: { processes: 40 } },
    judge: (_outcome, printed) => (Number(printed) > 41 ? `${printed.trim()} processes at once` : undefined),
  },
  {
    name: 'memory-by-one',
    attempt: 'hold more memory than is allowed, in one process',
    source: 'held = b"x" * (400 << 20); print(len(held))',
    judge: ({ end }, printed) => (printed !== '' || end.kind !== 'out_of_memory' ? `ended as ${end.kind}` : undefined),
  },
  {
    name: 'memory-by-many',
    counts: true,
    attempt: 'hold more memory than is allowed, in many processes',
    source: `
import os, time
ready = os.pipe()
children = []
for number in range(8):
    try: child = os.fork()
    except OSError: break
    if child == 0:
        held = b"x" * (50 << 20)
        os.write(ready[1], bytes([number]))
        time.sleep(600)
    children.append(child)
os.set_blocking(ready[0], False)
holding = set()
deadline = time.time() + 4
while len(holding) < len(children) and time.time() < deadline:
    try: holding.update(os.read(ready[0], 8))
    except BlockingIOError: time.sleep(0.05)
ended = [os.waitpid(child, os.WNOHANG)[0] != 0 for child in children]
print(sum(number in holding and not ended[number] for number in range(len(children))), flush=True)
os._exit(0)
`,
    judge: (_outcome, printed) => (Number(printed) * 50 > 128 ? `${printed.trim()} times 50 MB at once` : undefined),
  },
  {
    name: 'disk-fill',
    counts: true,
    attempt: 'fill the disk, or memory through files',
    source: `
import os
written = 0
for number, folder in enumerate(("/tmp", "/dev/shm", "/run", "/var/tmp", "/", ".")):
    try:
        with open(os.path.join(folder, f"fill-{number}"), "wb", buffering=0) as file:
            while written < 64 << 20: written += file.write(b"x" * 65536)
    except OSError: pass
print(written)
`,
    changes: { isWritable: true },
    judge: (_outcome, printed) => (Number(printed) > 9 * megabyte ? `${printed.trim()} bytes written` : undefined),
  },
  {
    name: 'result-fill',
    attempt: 'fill the disk through the descriptor of the result',
    source: `
import os
written = 0
try:
    while written < 64 << 20: written += os.write(3, b"x" * 65536)
except OSError: pass
print(written)
`,
    judge: ({ end }, printed) =>
      end.kind === 'exited' || Number(printed) > 10 * megabyte ? `${printed.trim()} bytes taken` : undefined,
  },
  {
    name: 'output-flood',
    attempt: 'print without an end',
    source: 'import os\nfor number in range(2000): os.write(1, b"x" * 65536)',
    judge: ({ end, stdout }) =>
      end.kind === 'output_too_large' && stdout.length <= 2 * megabyte
        ? undefined
        : `${stdout.length} bytes came through`,
  },
  {
    name: 'deaf-to-signals',
    attempt: 'ignore every signal and go on after its time',
    source: `
import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
os.setsid() if os.fork() == 0 else None
time.sleep(600)
`,
    changes: { limits: { wallMs: 4_000 } },
    judge: ({ end }) => (end.kind === 'timed_out' ? undefined : `ended as ${end.kind}`),
  },
  {
    name: 'outlive',
    attempt: 'leave a process behind that nobody waits for',
    source: `
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (0, 1, 2, 3): os.close(number)
        time.sleep(600)
    os._exit(0)
os.wait()
`,
    judge: ({ end }) => (end.kind === 'exited' ? undefined : `ended as ${end.kind}`),
  },
  {
    name: 'kill-everything',
    attempt: 'end every process that it can reach',
    source: `
import os
try: os.kill(-1, 9)
except OSError: pass
print("still here")
`,
    judge: () => undefined,
  },
]

export const exhaustionNames = exhaustionProbes.map(({ name }) => name)

/** Runs each in a sandbox of its own, two at a time. */
export async function runExhaustion(
  driver: SandboxDriver,
  names: readonly string[] = exhaustionNames,
): Promise<ProbeReport[]> {
  const reports: ProbeReport[] = []
  const waiting = exhaustionProbes.filter(({ name }) => names.includes(name))
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) reports.push(await runOne(driver, next))
  }
  await Promise.all([work(), work()])
  return reports
}

async function runOne(driver: SandboxDriver, probe: ExhaustionProbe): Promise<ProbeReport> {
  const nonce = randomUUID()
  const mark = newMark()
  const proof = `print("${nonce}", flush=True)\n`
  const outcome = await driver.run(python(`${bearing(mark)}\n${proof}${probe.source}`, probe.changes))
  const printed = textOf(outcome.stdout.subarray(0, 4096))
  const { name } = probe
  const isWhole = !probe.counts || outcome.end.kind === 'out_of_memory' || /\n\d+\n$/.test(printed)
  if (!printed.startsWith(`${nonce}\n`) || !isWhole) {
    return {
      name,
      attempt: undefined,
      end: 'broken',
      detail: `${JSON.stringify(outcome.end)} ${textOf(outcome.stderr)}`,
    }
  }
  const left = processesMarked(mark)
  const through =
    left.length > 0 ? `${left.length} processes are left` : probe.judge(outcome, printed.slice(nonce.length + 1))
  return { name, attempt: probe.attempt, end: through ? 'escaped' : 'stopped', detail: through ?? outcome.end.kind }
}
