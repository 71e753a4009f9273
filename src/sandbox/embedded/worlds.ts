import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { setReferenced } from '../../base/processes.ts'
import type { SandboxCommand } from '../sandbox.ts'
import type { Cgroup, CgroupParent } from './cgroups.ts'
import { sandboxMark } from './janitor.ts'
import {
  graceMs,
  openStreams,
  type PreparedCommand,
  type StreamNumbers,
  startLauncher,
  untilSpawned,
  type World,
  type WorldEnd,
} from './launcher.ts'
import { innerLanguage } from './prepare-command.ts'
import { findSystemProgram, type Stage } from './stage.ts'

/** Worlds prepared for the next calls. */
const prepared = 2

/**
 * `lazy` starts it after the first Python. `eager` makes the first call wait for it, `off` forks nothing: both for
 * tests.
 */
export type ForkServerUse = 'lazy' | 'eager' | 'off'

/** The source of worlds: bubblewrap for every command, the fork server for Python once it is running. */
export function createWorlds(options: {
  bubblewrap: string
  libraries: string | undefined
  stage: Stage
  cgroups: CgroupParent | undefined
  forkServer: ForkServerUse
  logger: Logger
  /** Whether a forked world fulfills the driver's claims. */
  isSound(take: () => Promise<World>): Promise<boolean>
}) {
  const { bubblewrap, libraries, stage, cgroups, logger, isSound, forkServer: use } = options
  const python = use === 'off' ? undefined : findSystemProgram('python3')
  let serial = 0

  function nextGroup() {
    serial += 1
    return cgroups?.make(String(serial))
  }

  const launched = createWorldPool({
    make: () => startLauncher({ bubblewrap, libraries, stage, cgroup: nextGroup() }),
    onFailure: (cause) => logger.warn('A sandbox could not be prepared', { cause }),
  })

  const forked = python
    ? createForkPool({
        start: () => startForkServer({ python, stage, cgroup: nextGroup() }),
        nextGroup,
        isSound,
        logger,
      })
    : undefined

  return {
    async take(command: PreparedCommand): Promise<World> {
      if (!forked || !isForkable(command)) return launched.take()
      const warmingUp = forked.warmUp()
      if (use === 'eager') await warmingUp
      return (await forked.take()) ?? launched.take()
    },
    /** Discards the prepared worlds. */
    async rest(): Promise<void> {
      await Promise.all([launched.drain(), forked?.close()])
    },
  }
}

const id = z.number().int()
const descriptor = z.number().int().nonnegative()
const pipes = z.object({
  stdin: descriptor,
  request: descriptor,
  stdout: descriptor,
  stderr: descriptor,
  result: descriptor,
})

/** Messages of fork-server.py, a line of JSON each. */
const forkMessage = z.union([
  z.object({ ready: z.literal(true) }),
  /** It has forked; these are the numbers of its pipe ends. */
  z.object({ id, pipes, pid: z.number().int().positive() }),
  /** All processes forked for it are gone. */
  z.object({ id, code: z.number().int() }),
  z.object({ id, broken: z.string() }),
])

/** Prepared worlds. Each is used once; the next one is made while a call runs. */
function createWorldPool(options: { make(): Promise<World>; onFailure(cause: unknown): void }) {
  const waiting = new Set<World>()
  const making = new Set<Promise<void>>()
  let drains = 0

  function refill(): void {
    for (let missing = prepared - waiting.size - making.size; missing > 0; missing -= 1) {
      const made = add()
        .catch(options.onFailure)
        .finally(() => making.delete(made))
      making.add(made)
    }
  }

  async function add(): Promise<void> {
    const drainsBefore = drains
    const world = await options.make()
    if (drains !== drainsBefore) return world.dispose()
    waiting.add(world)
    // A world that dies while it waits is not handed out.
    void world.ended.then(() => (waiting.delete(world) ? world.dispose() : undefined)).catch(options.onFailure)
  }

  return {
    async take(): Promise<World> {
      const [next] = waiting
      if (next) waiting.delete(next)
      const world = next ?? (await options.make())
      // Not before the call has started: starting a process takes this program two milliseconds.
      setImmediate(refill)
      return world
    },
    /** Discards prepared and unfinished worlds. The next call fills the pool again. */
    async drain(): Promise<void> {
      drains += 1
      const idle = [...waiting]
      waiting.clear()
      await Promise.all([...idle.map((world) => world.dispose()), ...making])
    },
  }
}

/** After this many failed starts it is not tried again: Python is then started for each call. */
const patience = 3

/** Worlds of a fork server that is started on first use. */
function createForkPool(options: {
  start(): ReturnType<typeof startForkServer>
  nextGroup(): Cgroup | undefined
  /** Whether a forked world fulfills the driver's claims. */
  isSound(take: () => Promise<World>): Promise<boolean>
  logger: Logger
}) {
  const { logger } = options
  let warming: ReturnType<typeof start> | undefined
  let warm: Awaited<ReturnType<typeof start>> | undefined
  let failures = 0

  async function start() {
    const server = await options.start()
    const make = () => server.begin(options.nextGroup())
    const onFailure = (cause: unknown) => logger.debug('A sandbox could not be forked', { cause })
    try {
      if (!(await options.isSound(make))) throw new Error('The forked sandbox failed its test')
      return { server, pool: createWorldPool({ make, onFailure }) }
    } catch (cause) {
      await server.close()
      throw cause
    }
  }

  /** Starts the server if there is none; resolves when it is usable or failed. */
  async function warmUp(): Promise<void> {
    if (failures >= patience) return
    warming ??= start()
    const started = warming
    try {
      const { server } = await started
      if (warming !== started || warm) return
      warm = await started
      void server.gone.then(() => close(started))
    } catch (cause) {
      if (warming !== started) return
      warming = undefined
      failures += 1
      logger.warn('The fork server for Python is not used', { cause })
    }
  }

  async function close(started = warming): Promise<void> {
    if (warming === started) {
      warming = undefined
      warm = undefined
    }
    const ending = await started?.catch(() => undefined)
    await ending?.pool.drain()
    await ending?.server.close()
  }

  return {
    warmUp,
    /** Undefined while there is no server. */
    async take(): Promise<World | undefined> {
      return warm?.pool.take().catch((cause) => {
        logger.warn('The fork server did not fork', { cause })
        return undefined
      })
    },
    /** Stops the server. It is started again on the next use. */
    close: () => close(),
  }
}

/** The request for a forked process. Only that process reads it, never the fork server. */
function forkRequest(command: PreparedCommand) {
  const { lowered } = command
  return {
    argv: command.argv,
    // A shell sets it, and so has a Python that a shell started.
    environment: { PWD: command.workingDirectory, ...command.environment },
    workingDirectory: command.workingDirectory,
    binds: command.binds,
    scratchBytes: command.isWritable ? command.limits.scratchBytes : null,
    proxy: command.relay,
    // By the names of Python's resource module.
    resources: {
      // The first process counts too.
      ...(lowered && { RLIMIT_NPROC: lowered.processes + 1, RLIMIT_DATA: lowered.dataBytes }),
      ...(lowered && lowered.spaceBytes !== null && { RLIMIT_AS: lowered.spaceBytes }),
    },
  }
}

const interpreters = new Set(['python3', 'python'])
/** Variables that Python reads at startup, which therefore need a newly started Python. */
const ownStart = /^(PYTHON|LC_|LANG$|LANGUAGE$)/
const harmless = new Set(['PYTHONPATH', 'PYTHONDONTWRITEBYTECODE'])

/** Whether a forked Python behaves like a started one: a script, without options for the interpreter. */
function isForkable({ argv, environment, network }: SandboxCommand): boolean {
  const [program = '', script = '-'] = argv
  const isScript = script === '-c' ? argv.length > 2 : !script.startsWith('-')
  if (!interpreters.has(program) || !isScript || network.kind === 'host') return false
  return Object.entries(environment).every(
    ([name, value]) => !ownStart.test(name) || harmless.has(name) || (name === 'LANG' && value === innerLanguage),
  )
}

interface Call {
  begun: PromiseWithResolvers<{ pipes: StreamNumbers; pid: number }>
  ended: PromiseWithResolvers<WorldEnd>
}

/** A running Python that forks a world for each script. Resolves when it is ready; throws if it does not start. */
async function startForkServer(options: { python: string; stage: Stage; cgroup: Cgroup | undefined }) {
  const { account, mark, forkServer } = options.stage
  const child = spawn(options.python, [forkServer.program, forkServer.settingsFile], {
    ...(account.isOther ? { uid: account.uid, gid: account.gid } : {}),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: '/tmp', [sandboxMark]: mark },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  await untilSpawned(child, options.cgroup)
  const calls = new Map<number, Call>()
  const ready = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  let complaints = ''
  let lastId = 0
  let isGone = false
  let running = 0

  const control = child.stdio[3] as Duplex
  for (const stream of [child.stdin, child.stdout, child.stderr, control]) stream.on('error', () => undefined)
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-2_000)
  })
  createInterface({ input: control })
    .on('line', hear)
    .on('error', () => undefined)
  child.once('error', (error) => end(error.message))
  child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`))

  function hear(line: string): void {
    const parsed = parseJson(line, forkMessage)
    if (!parsed.ok) return
    const message = parsed.value
    const call = 'id' in message ? calls.get(message.id) : undefined
    if ('ready' in message) ready.resolve()
    else if ('pipes' in message) call?.begun.resolve(message)
    else {
      calls.delete(message.id)
      const end: WorldEnd =
        'code' in message ? { kind: 'exited', code: message.code } : { kind: 'broken', reason: message.broken }
      if (end.kind === 'broken') call?.begun.reject(new Error(end.reason))
      call?.ended.resolve(end)
    }
  }

  function end(how: string): void {
    isGone = true
    ready.reject(new Error(`The fork server did not start: ${how} ${complaints}`.trim()))
    const reason = `the fork server stopped: ${how}`
    for (const call of calls.values()) {
      call.begun.reject(new Error(reason))
      call.ended.resolve({ kind: 'broken', reason })
    }
    calls.clear()
    gone.resolve()
  }

  function tell(word: object): void {
    if (!isGone) control.write(`${JSON.stringify(word)}\n`)
  }

  function setRunning(change: 1 | -1): void {
    running += change
    setReferenced(child, running > 0)
  }

  /** On failure the cgroup is removed too. */
  async function begin(cgroup: Cgroup | undefined): Promise<World> {
    lastId += 1
    const id = lastId
    const call: Call = { begun: Promise.withResolvers(), ended: Promise.withResolvers() }
    call.begun.promise.catch(() => undefined)

    function kill(): void {
      tell({ do: 'kill', id })
      setTimeout(() => cgroup?.kill(), graceMs).unref()
    }

    async function untilGone(): Promise<void> {
      if (calls.has(id)) {
        setRunning(1)
        kill()
        await call.ended.promise
        setRunning(-1)
      }
      await cgroup?.remove()
    }

    setRunning(1)
    try {
      if (isGone || child.pid === undefined) throw new Error('The fork server has stopped')
      calls.set(id, call)
      tell({ do: 'begin', id, join: cgroup?.joinFiles ?? [] })
      const { pipes, pid } = await call.begun.promise
      const streams = openStreams(child.pid, pipes)
      tell({ do: 'opened', id })
      return {
        streams,
        cgroup,
        firstProcess: () => (calls.has(id) ? pid : undefined),
        overhead: () => ({ processes: 1, memoryBytes: 0 }),
        ended: call.ended.promise,
        start(command) {
          setRunning(1)
          void call.ended.promise.then(() => setRunning(-1))
          streams.write('request', Buffer.from(JSON.stringify(forkRequest(command))))
        },
        kill,
        async dispose() {
          await untilGone()
          streams.close()
        },
      }
    } catch (cause) {
      await untilGone()
      throw cause
    } finally {
      setRunning(-1)
    }
  }

  async function close(): Promise<void> {
    setReferenced(child, true)
    child.kill('SIGKILL')
    await gone.promise
    await options.cgroup?.remove()
  }

  try {
    if (child.pid !== undefined) await options.cgroup?.add(child.pid)
    await ready.promise
  } catch (cause) {
    await close()
    throw cause
  }
  setReferenced(child, false)
  return { begin, gone: gone.promise, close }
}
