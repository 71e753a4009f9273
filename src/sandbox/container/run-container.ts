import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import { z } from 'zod'
import { type Clock, sleep } from '../../base/clock.ts'
import type { SandboxCommand, SandboxEnd, SandboxOutcome } from '../sandbox.ts'
import { collectOutput } from './collect-output.ts'
import { startLine } from './container-spec.ts'
import { type EngineClient, EngineError } from './engine-client.ts'

/** How long the engine itself may take for one step. */
const stepMs = 60_000

/**
 * One container from its making to its removal. Whatever happens, it is gone when this ends; `signal` ends it at once
 * and is thrown.
 */
export async function runContainer(options: {
  client: EngineClient
  clock: Clock
  spec: object
  command: SandboxCommand
  signal: AbortSignal
}): Promise<Omit<SandboxOutcome, 'result'>> {
  const { client, clock, spec, command, signal } = options
  // Named here, so that it can be removed even where the engine's answer never came.
  const name = `familiar-${randomUUID()}`
  try {
    // Not with `signal`: a request that is dropped may still make a container.
    await client.send({ method: 'POST', path: '/containers/create', query: { name }, body: spec, ...patiently() })
    signal.throwIfAborted()
    return await attachAndRun({ client, clock, name, command, signal })
  } finally {
    await removeContainer(client, name)
  }
}

async function attachAndRun(options: {
  client: EngineClient
  clock: Clock
  name: string
  command: SandboxCommand
  signal: AbortSignal
}): Promise<Omit<SandboxOutcome, 'result'>> {
  const { client, clock, name, command, signal } = options
  // Before the start: a container may be done before a later attach.
  const socket = await client.hijack({
    method: 'POST',
    path: `/containers/${name}/attach`,
    query: { stream: '1', stdin: '1', stdout: '1', stderr: '1' },
    ...patiently(),
  })
  try {
    const output = collectOutput(socket, command.limits.outputBytes)
    await client.send({ method: 'POST', path: `/containers/${name}/start`, ...patiently() })
    const startedAt = clock.now()
    socket.write(startLine)
    socket.end(command.stdin)

    const timeout = new AbortController()
    const cancelTimeout = clock.after(command.limits.wallMs, () => timeout.abort())
    const deadline = AbortSignal.any([signal, timeout.signal])
    const end = await endOf({ client, clock, name, finished: output.finished, deadline }).finally(cancelTimeout)
    signal.throwIfAborted()
    const durationMs = clock.now() - startedAt
    const streams = { stdout: output.stdout(), stderr: output.stderr() }
    return { end, ...streams, durationMs, peakMemoryBytes: null, driver: 'container' }
  } finally {
    socket.destroy()
  }
}

/**
 * The end of the streams is the end of the run in almost every case, and is known at once; a program that closes them and
 * goes on is asked after until it stops. `wait` of the engine would poll for longer.
 */
async function endOf(options: {
  client: EngineClient
  clock: Clock
  name: string
  finished: Promise<{ tooLarge: 'stdout' | 'stderr' | null }>
  deadline: AbortSignal
}): Promise<SandboxEnd> {
  const { client, clock, name, finished, deadline } = options
  const first = await Promise.race([finished, aborted(deadline)])
  if (first === 'aborted') return { kind: 'timed_out' }
  if (first.tooLarge) return { kind: 'output_too_large', stream: first.tooLarge }
  for (let pause = 2; ; pause = Math.min(pause * 2, 100)) {
    const state = await inspectState(client, name)
    if (!['created', 'running', 'stopping'].includes(state.Status)) return toEnd(state)
    if (deadline.aborted) return { kind: 'timed_out' }
    await sleep(clock, pause, deadline).catch(() => undefined)
  }
}

const stateSchema = z.object({
  State: z.object({ Status: z.string(), ExitCode: z.number(), OOMKilled: z.boolean() }),
})
type ContainerState = z.infer<typeof stateSchema>['State']

async function inspectState(client: EngineClient, name: string): Promise<ContainerState> {
  return (await client.json({ method: 'GET', path: `/containers/${name}/json`, ...patiently() }, stateSchema)).State
}

/** What the shell inside wrote of its control group. A command can forge it, and only says of itself that it ran out. */
export function readAccount(text: string): { isOutOfMemory: boolean; peakMemoryBytes: number | null } {
  const numberOf = (name: string) => {
    const found = new RegExp(`^${name} (\\d{1,15})$`, 'm').exec(text)
    return found ? Number(found[1]) : null
  }
  return { isOutOfMemory: (numberOf('oom_kill') ?? 0) > 0, peakMemoryBytes: numberOf('peak') }
}

/** The shell inside reports a signal as 128 and its number, as every engine does. */
function toEnd({ ExitCode, OOMKilled }: ContainerState): SandboxEnd {
  if (OOMKilled) return { kind: 'out_of_memory' }
  const signal = Object.entries(constants.signals).find(([, number]) => number === ExitCode - 128)?.[0]
  return signal ? { kind: 'killed', signal } : { kind: 'exited', code: ExitCode }
}

/** Kills first: to remove by force alone is to wait politely in some engines. */
export async function removeContainer(client: EngineClient, name: string): Promise<void> {
  const gone = (cause: unknown) => {
    if (cause instanceof EngineError && cause.status >= 400 && cause.status < 500) return
    throw cause
  }
  const path = `/containers/${name}`
  await client.send({ method: 'POST', path: `${path}/kill`, query: { signal: 'KILL' }, ...patiently() }).catch(() => {})
  await client.send({ method: 'DELETE', path, query: { force: '1', v: '1' }, ...patiently() }).catch(gone)
}

function patiently(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(stepMs) }
}

function aborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve('aborted')
    signal.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
}
