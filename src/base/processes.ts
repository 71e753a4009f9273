import { type ChildProcess, fork, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { FamiliarError } from '../protocol/errors.ts'
import type { Clock } from './clock.ts'

/** A model's process, as its one user sees it. */
export interface ModelChild<Sent> {
  readonly pid: number | undefined
  send(message: Sent): void
  /** While busy, it keeps the program alive; otherwise it does not. */
  setBusy(isBusy: boolean): void
  /** Kills it; resolves when it is gone. */
  end(): Promise<void>
}

export interface ModelChildEvents<Told> {
  onMessage(message: Told): void
  /** Called once, however it ended. */
  onEnd(reason: string): void
}

// Measured: the weights take nearly all the memory, and the heap next to nothing.
const flags = [
  '--max-semi-space-size=2',
  '--v8-pool-size=1',
  '--no-node-snapshot',
  '--disable-warning=ExperimentalWarning',
]

/** Starts a program of ours that holds a model. It inherits nothing, and ends with this process however that ends. */
export function startModelChild<Sent extends object, Told>(
  command: { program: URL; args: readonly string[]; environment?: Readonly<Record<string, string>> },
  { onMessage, onEnd }: ModelChildEvents<Told>,
): ModelChild<Sent> {
  const child = fork(fileURLToPath(command.program), command.args, {
    env: { MALLOC_ARENA_MAX: '1', ...command.environment },
    execArgv: flags,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const ended = Promise.withResolvers<void>()
  function end(reason: string): void {
    ended.resolve()
    onEnd(reason)
  }
  child.on('message', (message) => onMessage(message as Told))
  child.once('exit', (code, signal) => end(signal ? `ended by ${signal}` : `ended with exit code ${code}`))
  child.on('error', (error) => {
    // If it could not start, no exit event follows.
    if (child.pid === undefined) end(error.message)
  })
  return {
    pid: child.pid,
    send(message) {
      // A process that has ended reports its end anyway.
      child.send(message, () => undefined)
    },
    setBusy: (isBusy) => setReferenced(child, isBusy),
    end() {
      // The process must live until the end is reported.
      setReferenced(child, true)
      child.kill('SIGKILL')
      return ended.promise
    },
  }
}

/** A referenced child, with its pipes, keeps the program alive. */
export function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  // The streams of pipes are sockets.
  const handles = [child, child.channel, ...(child.stdio as ({ ref?(): void; unref?(): void } | null)[])]
  for (const handle of handles) {
    if (isReferenced) handle?.ref?.()
    else handle?.unref?.()
  }
}

/**
 * Questions to a worker thread, each with its own answer. It keeps the process alive only while a question is pending.
 */
export interface AskedThread<Question, Answer> {
  readonly isIdle: boolean
  /** Answered in the order of the calls. Rejects with the signal's reason as soon as it aborts. */
  ask(question: Question, signal: AbortSignal | undefined): Promise<Answer>
  /** Rejects pending questions. Resolves when the thread is gone. */
  end(): Promise<void>
}

/**
 * The thread receives `{ id, ...question }` and answers with the same `id`; `read` converts the answer or throws the
 * error for the caller. `name` is used in the error of questions that are pending when it ends; `onEnd` is called once,
 * whether it was stopped or died.
 */
export function askThread<Question extends object, Told extends { id: number }, Answer>(options: {
  worker: Worker
  name: string
  read(told: Told): Answer
  onEnd(): void
}): AskedThread<Question, Answer> {
  const { worker, name, read, onEnd } = options
  const waiting = new Map<number, PromiseWithResolvers<Answer>>()
  let lastId = 0
  let death = new FamiliarError('unavailable', `${name} has ended.`)
  worker.unref()

  worker.on('message', (told: Told) => {
    const asked = waiting.get(told.id)
    try {
      asked?.resolve(read(told))
    } catch (cause) {
      asked?.reject(cause)
    }
    settle(told.id)
  })
  worker.on('error', (cause) => {
    death = new FamiliarError('internal', `${name} failed: ${(cause as Error).message}`, { cause })
  })
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      for (const asked of waiting.values()) asked.reject(death)
      waiting.clear()
      onEnd()
      resolve()
    })
  })

  function settle(id: number): void {
    waiting.delete(id)
    if (waiting.size === 0) worker.unref()
  }

  return {
    get isIdle() {
      return waiting.size === 0
    },
    async ask(question, signal) {
      signal?.throwIfAborted()
      lastId += 1
      const id = lastId
      const asked = Promise.withResolvers<Answer>()
      const onAbort = () => {
        asked.reject(signal?.reason)
        settle(id)
      }
      waiting.set(id, asked)
      worker.ref()
      worker.postMessage({ id, ...question })
      signal?.addEventListener('abort', onAbort, { once: true })
      try {
        return await asked.promise
      } finally {
        signal?.removeEventListener('abort', onAbort)
      }
    },
    async end() {
      await worker.terminate()
      await ended
    },
  }
}

/** The first candidate that can be run: paths as they are, names on `searchPath`. */
export async function findProgram(candidates: readonly string[], searchPath: string): Promise<string | undefined> {
  const directories = searchPath.split(delimiter).filter(isAbsolute)
  const paths = candidates.flatMap((candidate) =>
    isAbsolute(candidate) ? [candidate] : directories.map((directory) => join(directory, candidate)),
  )
  for (const path of paths) {
    const isRunnable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isRunnable) return path
  }
  return undefined
}

export interface ChildCommand {
  /** A program on the PATH of `environment`, or a path, and its arguments. No shell is involved. */
  argv: readonly [string, ...string[]]
  /** The complete environment: nothing is inherited from this process. */
  environment: Readonly<Record<string, string>>
  workingDirectory: string
  stdin: Uint8Array
  limits: {
    wallMs: number
    /** For standard output and standard error each. One byte more ends the run. */
    outputBytes: number
  }
  signal: AbortSignal
}

export type ChildEnd =
  | { kind: 'exited'; code: number }
  | { kind: 'killed'; signal: string }
  | { kind: 'timed_out' }
  | { kind: 'output_too_large' }
  | { kind: 'not_started'; reason: string }

export interface ChildOutcome {
  end: ChildEnd
  stdout: Uint8Array
  stderr: Uint8Array
  durationMs: number
}

/**
 * Runs a program to its end, in its own process group. Whatever it does is an outcome; only the signal's reason is
 * thrown. When it resolves or throws, its group is gone, including background processes, except those that moved to
 * another session.
 */
export type RunChild = (command: ChildCommand) => Promise<ChildOutcome>

/** How long processes that left the group may keep the output open after the program has ended. */
const maxEchoMs = 500

export function createRunChild({ clock }: { clock: Clock }): RunChild {
  return async ({ argv: [program, ...rest], environment, workingDirectory, stdin, limits, signal }) => {
    signal.throwIfAborted()
    const startedAt = clock.now()
    const child = spawn(program, rest, {
      cwd: workingDirectory,
      env: { ...environment },
      detached: true,
      stdio: 'pipe',
    })
    // If this process cannot open more files, there are no pipes either.
    if (child.pid === undefined && !child.stdio) throw await new Promise((resolve) => child.once('error', resolve))
    let early: ChildEnd | undefined
    const endWith = (end: ChildEnd) => {
      early ??= end
      killGroup(child)
    }
    const tooLarge = () => endWith({ kind: 'output_too_large' })
    const stdout = collectOutput(limits.outputBytes, tooLarge)
    const stderr = collectOutput(limits.outputBytes, tooLarge)
    child.stdout.on('data', stdout.take).on('error', () => undefined)
    child.stderr.on('data', stderr.take).on('error', () => undefined)
    const onAbort = () => killGroup(child)
    const stopTimer = clock.after(limits.wallMs, () => endWith({ kind: 'timed_out' }))
    signal.addEventListener('abort', onAbort, { once: true })
    // A program that does not read its input closes the pipe; that is not an error.
    child.stdin.on('error', () => undefined)
    child.stdin.end(stdin)
    try {
      const end = await ended(child, clock)
      signal.throwIfAborted()
      return { end: early ?? end, stdout: stdout.bytes(), stderr: stderr.bytes(), durationMs: clock.now() - startedAt }
    } finally {
      stopTimer()
      signal.removeEventListener('abort', onAbort)
    }
  }
}

function ended(child: ChildProcess, clock: Clock): Promise<ChildEnd> {
  return new Promise((resolve) => {
    let end: ChildEnd = { kind: 'not_started', reason: 'unknown' }
    let stopWaiting = () => {}
    child.once('error', (error: NodeJS.ErrnoException) => {
      // If it could not start, no exit event follows.
      if (child.pid === undefined) resolve({ kind: 'not_started', reason: error.code ?? error.message })
    })
    child.once('exit', (code, signal) => {
      end = signal === null ? { kind: 'exited', code: code ?? 0 } : { kind: 'killed', signal }
      killGroup(child)
      stopWaiting = clock.after(maxEchoMs, () => {
        child.stdout?.destroy()
        child.stderr?.destroy()
      })
    })
    child.once('close', () => {
      stopWaiting()
      resolve(end)
    })
  })
}

export function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (pid !== undefined) tryKill(-pid, signal)
}

/** A process that ended by itself is not an error. A negative number is a group. */
export function tryKill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is gone.
  }
}

/** Keeps the first `limit` bytes and reports once when more arrive. */
export function collectOutput(limit: number, onTooMuch: () => void) {
  const chunks: Uint8Array[] = []
  let length = 0
  let isFull = false
  return {
    take(bytes: Uint8Array): void {
      if (isFull) return
      const room = limit - length
      chunks.push(bytes.subarray(0, room))
      length += Math.min(bytes.length, room)
      if (bytes.length <= room) return
      isFull = true
      onTooMuch()
    },
    bytes: (): Uint8Array => Buffer.concat(chunks, length),
  }
}
