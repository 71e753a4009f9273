import { spawn } from 'node:child_process'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { killGroup } from '../../base/processes.ts'

const plainPath = '/usr/local/bin:/usr/bin:/bin'
const politeMs = 1_000
const maxLinesPerMinute = 100
const maxLineLength = 1_000

/** A server's process with all its children: one group, which ends as a whole. */
export type ServerProgram = ReturnType<typeof startProgram>

/** It gets only the variables that the owner named, and its standard error goes to the log. `onEnd` is called once. */
export function startProgram(options: {
  server: string
  program: McpProgram
  environment: (name: string) => string | undefined
  workingDirectory: string
  clock: Clock
  logger: Logger
  onData(bytes: Buffer): void
  onEnd(reason: string): void
}) {
  const { server, program, clock, logger } = options
  const child = spawn(program.command, [...program.args], {
    env: environmentOf(program, options.environment),
    cwd: options.workingDirectory,
    stdio: ['pipe', 'pipe', 'pipe'],
    // A separate group: everything it starts ends with it.
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
  // There are none if this process cannot open more files.
  child.stdout?.on('data', options.onData)
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined)
  if (child.stderr) logLines(child.stderr, { server, clock, logger })

  return {
    pid: child.pid,
    write(text: string): boolean {
      if (hasEnded || !child.stdin?.writable) return false
      child.stdin.write(text)
      return true
    },
    kill: () => killGroup(child, 'SIGKILL'),
    /** Ends it: by closing its input, then by a signal, then by force. Resolves when it is gone. */
    async end(): Promise<void> {
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

function describeStart(command: string, error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT')
    return `there is no program ${command} (to use a PATH other than ${plainPath}, name it in its environment)`
  return `${command} could not be started: ${error.message}`
}

/** Shortened and limited: a program that keeps complaining must not fill the disk. */
function logLines(
  stream: NodeJS.ReadableStream,
  { server, clock, logger }: { server: string; clock: Clock; logger: Logger },
): void {
  let rest = ''
  const mayLog = createLineLimit(clock)
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = (parts.pop() ?? '').slice(0, maxLineLength)
    for (const line of parts) {
      if (mayLog() && line.trim() !== '') {
        logger.info('output of an MCP server', { server, line: line.slice(0, maxLineLength) })
      }
    }
  })
}

/** Whether another line of a server may be logged in this minute. */
export function createLineLimit(clock: Clock): () => boolean {
  let minute = 0
  let lines = 0
  return () => {
    const now = Math.floor(clock.now() / 60_000)
    if (now !== minute) lines = 0
    minute = now
    lines += 1
    return lines <= maxLinesPerMinute
  }
}

export type McpServerSettings = McpProgram | McpAddress

interface CommonSettings {
  /** Whether it may use the model, at the expense of the user whose call it is. */
  sampling?: boolean | undefined
}

export interface McpProgram extends CommonSettings {
  command: string
  args: readonly string[]
  /** Names of the variables that it gets, and no others. */
  environment: readonly string[]
}

export interface McpAddress extends CommonSettings {
  url: string
  /** Their values are secrets. */
  headers: Readonly<Record<string, string>>
  /** The client that the owner registered at its authorization server, if that has no registration. */
  oauth?: {
    clientId: string
    clientSecret: string | null
    /** Familiar signs in by itself, as this client, with its secret or its key. */
    isOwnLogin?: true
    /** PEM. */
    privateKey?: string | null
  }
}

export function isProgram(settings: McpServerSettings): settings is McpProgram {
  return 'command' in settings
}

export const offersSchema = z.object({ resources: z.boolean(), prompts: z.boolean() })
export type McpOffers = z.infer<typeof offersSchema>
export const noOffers: McpOffers = { resources: false, prompts: false }

/** Identifies a server for an approval, without secrets: another program or address is another server. */
export function identityOf(settings: McpServerSettings): object {
  if (!isProgram(settings)) return { url: settings.url, headers: Object.keys(settings.headers).sort() }
  const { command, args, environment } = settings
  return { command, args, environment: [...environment].sort() }
}
