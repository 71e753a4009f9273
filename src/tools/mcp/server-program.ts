import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { McpProgram } from './server-settings.ts'

/** Where programs are found that nobody gave a PATH. */
const plainPath = '/usr/local/bin:/usr/bin:/bin'
const politeMs = 1_000
const mostLinesPerMinute = 100
const longestLine = 1_000

/** A server's process with all that it starts: one group, which ends as a whole. */
export interface ServerProgram {
  readonly pid: number | undefined
  /** False: it does not read any more. */
  write(text: string): boolean
  /** At once, without asking. */
  kill(): void
  /** Ends it, by its closed input, then by asking, then for good. Resolves when it is gone. */
  end(): Promise<void>
}

/**
 * Starts the program with the variables that the owner named and nothing else of this process. What it writes to standard
 * error goes into the log. `onEnd` is called once, whoever ended it.
 */
export function startProgram(options: {
  server: string
  program: McpProgram
  environment: (name: string) => string | undefined
  workingDirectory: string
  clock: Clock
  logger: Logger
  onData(bytes: Buffer): void
  onEnd(reason: string): void
}): ServerProgram {
  const { server, program, clock, logger } = options
  const child = spawn(program.command, [...program.args], {
    env: environmentOf(program, options.environment),
    cwd: options.workingDirectory,
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: whatever it starts ends with it.
    detached: true,
  })
  const gone = Promise.withResolvers<void>()
  let hasEnded = false

  function onGone(reason: string): void {
    if (hasEnded) return
    hasEnded = true
    killGroup(child, 'SIGKILL')
    child.stdout?.destroy()
    child.stderr?.destroy()
    gone.resolve()
    options.onEnd(reason)
  }

  child.on('error', (error) => onGone(describeStart(program.command, error)))
  child.once('exit', (code, signal) => onGone(signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`))
  // There are none where this process may open no more files.
  child.stdout?.on('data', options.onData)
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined)
  if (child.stderr) logLines(child.stderr, { server, clock, logger })

  return {
    pid: child.pid,
    write(text) {
      if (hasEnded || !child.stdin?.writable) return false
      child.stdin.write(text)
      return true
    },
    kill: () => killGroup(child, 'SIGKILL'),
    async end() {
      if (hasEnded) return
      child.stdin?.end()
      const cancelAsking = clock.after(politeMs, () => killGroup(child, 'SIGTERM'))
      const cancelKilling = clock.after(2 * politeMs, () => killGroup(child, 'SIGKILL'))
      await gone.promise
      cancelAsking()
      cancelKilling()
    },
  }
}

function environmentOf({ environment }: McpProgram, lookUp: (name: string) => string | undefined) {
  const named = environment.map((name) => [name, lookUp(name)] as const)
  return { PATH: plainPath, ...Object.fromEntries(named.filter(([, value]) => value !== undefined)) }
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody is left in it.
  }
}

function describeStart(command: string, error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT')
    return `there is no program ${command} (a PATH other than ${plainPath} must be named in its environment)`
  return `${command} could not be started: ${error.message}`
}

/** Cut and counted: a program that only complains must not fill the disk. */
function logLines(
  stream: NodeJS.ReadableStream,
  { server, clock, logger }: { server: string; clock: Clock; logger: Logger },
): void {
  let rest = ''
  let minute = 0
  let lines = 0
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = (parts.pop() ?? '').slice(0, longestLine)
    for (const line of parts) {
      const now = Math.floor(clock.now() / 60_000)
      if (now !== minute) lines = 0
      minute = now
      lines += 1
      if (lines <= mostLinesPerMinute && line.trim() !== '') {
        logger.info('an MCP server says', { server, line: line.slice(0, longestLine) })
      }
    }
  })
}
