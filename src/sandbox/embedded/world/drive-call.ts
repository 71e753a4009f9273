import { constants } from 'node:os'
import type { Clock } from '../../../base/clock.ts'
import type { SandboxEnd, SandboxOutcome } from '../../sandbox.ts'
import { collectOutput } from './collect-output.ts'
import type { PreparedCommand, World } from './world.ts'

const memoryCheckMs = 200

/** Runs the command in the world to its end and throws the world away. Throws the signal's reason, or where the world broke. */
export async function driveCall(options: {
  world: World
  command: PreparedCommand
  clock: Clock
  driver: string
}): Promise<SandboxOutcome> {
  const { world, command, clock, driver } = options
  const { limits, signal } = command
  const startedAt = performance.now()
  let stopped: SandboxEnd | undefined

  function stop(why: SandboxEnd): void {
    stopped ??= why
    world.kill()
  }

  const stdout = collectOutput(limits.outputBytes, () => stop({ kind: 'output_too_large', stream: 'stdout' }))
  const stderr = collectOutput(limits.outputBytes, () => stop({ kind: 'output_too_large', stream: 'stderr' }))
  // What is answered instead of printed has the same limit.
  const result = collectOutput(limits.outputBytes, () => stop({ kind: 'output_too_large', stream: 'stdout' }))
  const reading = Promise.all([
    world.streams.read('stdout', stdout.take),
    world.streams.read('stderr', stderr.take),
    world.streams.read('result', result.take),
  ])
  const onAbort = () => world.kill()
  signal.addEventListener('abort', onAbort, { once: true })
  // One process is ended for want of memory; the others would go on without it.
  const watching = setInterval(() => isOutOfMemory(world) && stop({ kind: 'out_of_memory' }), memoryCheckMs)
  const cancelTimeout = clock.after(limits.wallMs, () => stop({ kind: 'timed_out' }))
  try {
    signal.throwIfAborted()
    const own = world.overhead(command)
    world.cgroup?.limit({
      memoryBytes: limits.memoryBytes + own.memoryBytes,
      processes: limits.processes + own.processes,
    })
    world.streams.write('stdin', command.stdin)
    world.start(command)
    const ended = await world.ended
    await reading
    signal.throwIfAborted()
    const wasOutOfMemory = isOutOfMemory(world) && stopped?.kind !== 'output_too_large'
    // Where the kernel ends all of a cgroup at once, nobody is left to tell how the command ended.
    if (ended.kind === 'broken' && !stopped && !wasOutOfMemory) {
      const said = Buffer.from(stderr.bytes()).toString()
      throw new Error(`The sandbox could not be set up: ${ended.reason} ${said}`.trim())
    }
    return {
      end: wasOutOfMemory ? { kind: 'out_of_memory' } : (stopped ?? endOf(ended.kind === 'exited' ? ended.code : 0)),
      stdout: stdout.bytes(),
      stderr: stderr.bytes(),
      result: result.bytes(),
      durationMs: performance.now() - startedAt,
      peakMemoryBytes: world.cgroup?.peakMemoryBytes() ?? null,
      driver,
    }
  } finally {
    clearInterval(watching)
    cancelTimeout()
    signal.removeEventListener('abort', onAbort)
    await world.dispose()
  }
}

function isOutOfMemory({ cgroup }: World): boolean {
  return (cgroup?.memoryKills() ?? 0) > 0
}

// Some have an older name as well, which comes later in the list.
const signalNames = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
)

/** A process that a signal ended comes out of every sandbox as 128 and the signal's number, as in a shell. */
function endOf(code: number): SandboxEnd {
  const name = signalNames.get(code - 128)
  return name === undefined ? { kind: 'exited', code } : { kind: 'killed', signal: name }
}
