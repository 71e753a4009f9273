import { afterEach, describe, expect, it } from 'vitest'
import { commandOf, megabyte, textOf } from '../../../test/contract/sandbox-support.ts'
import { embeddedDrivers, hasBubblewrap, leftovers, leftSince } from '../../../test/support/embedded-sandbox.ts'
import type { SandboxCommand, SandboxEnd } from '../sandbox.ts'

const { open, closeAll } = embeddedDrivers()
afterEach(closeAll)

/** Calls of all kinds, with their expected end. */
const kinds: readonly { command: SandboxCommand; end: SandboxEnd; share: number }[] = [
  { command: commandOf(['python3', '-c', 'print(1)']), end: { kind: 'exited', code: 0 }, share: 60 },
  { command: commandOf(['sh', '-c', 'echo 1; exit 3']), end: { kind: 'exited', code: 3 }, share: 25 },
  {
    command: commandOf(['python3', '-c', 'import os; os.abort()']),
    end: { kind: 'killed', signal: 'SIGABRT' },
    share: 4,
  },
  {
    command: commandOf(['sh', '-c', '(setsid sleep 60 >&- 2>&- &) & exit 0'], { isWritable: true }),
    end: { kind: 'exited', code: 0 },
    share: 4,
  },
  {
    command: commandOf(['python3', '-c', 'import os, time; os.fork(); os.setsid(); time.sleep(60)'], {
      limits: { wallMs: 20 },
    }),
    end: { kind: 'timed_out' },
    share: 4,
  },
  {
    command: commandOf(['python3', '-c', 'print("x" * 100_000)'], { limits: { outputBytes: 1_000 } }),
    end: { kind: 'output_too_large', stream: 'stdout' },
    share: 3,
  },
]
const mixed = kinds.flatMap((kind) => Array.from({ length: kind.share }, () => kind))

const calls = process.env.FAMILIAR_TEST_ALL ? 1_000 : 300

describe.skipIf(!hasBubblewrap)(`${calls} calls (bubblewrap is needed)`, () => {
  it('SEC-12 leave no process, cgroup, mount, file or descriptor', { timeout: 600_000 }, async () => {
    const before = leftovers()
    const { driver } = open({ forkServer: 'eager' })
    const wrong = new Set<string>()
    let next = 0
    // A fixed order that mixes all kinds, four at a time as in a daemon.
    async function work(): Promise<void> {
      while (next < calls) {
        const kind = mixed[(next * 37) % mixed.length]
        next += 1
        if (!kind) return
        const { end } = await driver.run(kind.command)
        if (JSON.stringify(end) !== JSON.stringify(kind.end)) wrong.add(JSON.stringify([kind.command.argv, end]))
      }
    }
    await Promise.all([work(), work(), work(), work()])
    expect([...wrong]).toEqual([])
    await driver.close()
    expect(leftSince(before)).toEqual([])
  })
})

const answersMeanwhile = async (work: Promise<unknown>) => {
  let isOver = false
  void work.finally(() => {
    isOver = true
  })
  // Each of these waits for the event loop, the disk and a child process, as a daemon does.
  const { driver } = open()
  let answers = 0
  while (!isOver) {
    expect(textOf((await driver.run(commandOf(['echo', 'here']))).stdout)).toBe('here\n')
    answers += 1
  }
  return answers
}

const attacks: readonly { name: string; command: SandboxCommand; ends: readonly SandboxEnd['kind'][] }[] = [
  {
    name: 'a fork bomb',
    command: commandOf(['bash', '-c', 'bomb() { bomb | bomb & }; bomb; sleep 2'], {
      limits: { processes: 64, wallMs: 3_000 },
    }),
    ends: ['exited', 'timed_out', 'killed'],
  },
  {
    name: 'a fork bomb in Python',
    command: commandOf(['python3', '-c', 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'], {
      limits: { processes: 64, wallMs: 2_000 },
    }),
    ends: ['timed_out', 'out_of_memory'],
  },
  {
    name: 'memory by many processes',
    command: commandOf(['sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do tail /dev/zero & done; wait'], {
      limits: { memoryBytes: 128 * megabyte },
    }),
    ends: ['out_of_memory'],
  },
  {
    name: 'a hundred megabytes of output',
    command: commandOf(['head', '-c', '100000000', '/dev/zero']),
    ends: ['output_too_large'],
  },
  {
    name: 'a hundred megabytes of errors',
    command: commandOf(['sh', '-c', 'head -c 100000000 /dev/zero >&2']),
    ends: ['output_too_large'],
  },
  {
    name: 'a full disk',
    command: commandOf(['sh', '-c', 'cat /dev/zero >/tmp/a; cat /dev/zero >/dev/shm/b; df -k /tmp | tail -1; exit 5'], {
      isWritable: true,
      limits: { scratchBytes: 4 * megabyte },
    }),
    ends: ['exited'],
  },
  {
    name: 'a million files',
    command: commandOf(['python3', '-c', 'n = 0\nwhile True:\n  open(f"/tmp/{n}", "w").close(); n += 1'], {
      isWritable: true,
      limits: { scratchBytes: 4 * megabyte, memoryBytes: 64 * megabyte, wallMs: 4_000 },
    }),
    ends: ['exited', 'out_of_memory', 'timed_out'],
  },
]

describe.skipIf(!hasBubblewrap)('resource exhaustion (bubblewrap is needed)', () => {
  it.each(attacks)(
    'TOOL-4 $name is contained, and this program stays responsive',
    { timeout: 60_000 },
    async (attack) => {
      const before = leftovers()
      const { driver } = open({ forkServer: 'eager' })
      const running = driver.run(attack.command)
      expect(await answersMeanwhile(running)).toBeGreaterThan(0)
      const outcome = await running
      expect(attack.ends).toContain(outcome.end.kind)
      expect(outcome.stdout.length).toBeLessThanOrEqual(attack.command.limits.outputBytes)
      if (outcome.peakMemoryBytes !== null) {
        expect(outcome.peakMemoryBytes).toBeLessThanOrEqual(attack.command.limits.memoryBytes)
      }
      await closeAll()
      expect(leftSince(before)).toEqual([])
    },
  )
})
