import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from './clock.ts'

export interface ChildCommand {
  /** A program on the PATH of `environment`, or a path, and what it is told. No shell reads it. */
  argv: readonly [string, ...string[]]
  /** All of it: nothing of this process's own environment is handed on. */
  environment: Readonly<Record<string, string>>
  workingDirectory: string
  stdin: Uint8Array
  limits: {
    wallMs: number
    /** Of standard output and standard error each. One byte more ends the run. */
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
 * Runs a program of this machine to its end, in a process group of its own. Whatever it does is an outcome; only the
 * signal's reason is thrown. When it resolves or throws, its group is gone: what it left running in the background too,
 * but for what has moved to a session of its own.
 */
export type RunChild = (command: ChildCommand) => Promise<ChildOutcome>

/** How long what left the group may hold the output open after the program has ended. */
const longestEcho = 500

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
    let early: ChildEnd | undefined
    const endWith = (end: ChildEnd) => {
      early ??= end
      killGroup(child)
    }
    const tooLarge = () => endWith({ kind: 'output_too_large' })
    const stdout = collect(child.stdout, limits.outputBytes, tooLarge)
    const stderr = collect(child.stderr, limits.outputBytes, tooLarge)
    const onAbort = () => killGroup(child)
    const stopTimer = clock.after(limits.wallMs, () => endWith({ kind: 'timed_out' }))
    signal.addEventListener('abort', onAbort, { once: true })
    // A program that reads nothing closes its end; that is its own affair.
    child.stdin.on('error', () => undefined)
    child.stdin.end(stdin)
    try {
      const end = await ended(child, clock)
      signal.throwIfAborted()
      return { end: early ?? end, stdout: stdout(), stderr: stderr(), durationMs: clock.now() - startedAt }
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
      // Only where it could not even start is there no exit to come.
      if (child.pid === undefined) resolve({ kind: 'not_started', reason: error.code ?? error.message })
    })
    child.once('exit', (code, signal) => {
      end = signal === null ? { kind: 'exited', code: code ?? 0 } : { kind: 'killed', signal }
      killGroup(child)
      stopWaiting = clock.after(longestEcho, () => {
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

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}

/** Keeps what comes, up to the limit; returns how to read it. */
function collect(stream: NodeJS.ReadableStream, limit: number, onTooLarge: () => void): () => Uint8Array {
  const chunks: Uint8Array[] = []
  let size = 0
  stream.on('error', () => undefined)
  stream.on('data', (chunk: Buffer) => {
    const room = limit - size
    if (room > 0) chunks.push(chunk.subarray(0, room))
    size += chunk.length
    if (size > limit) onTooLarge()
  })
  return () => Buffer.concat(chunks)
}
