import { setTimeout as wait } from 'node:timers/promises'
import { formatProblems } from '../daemon/config/config-problem.ts'
import type { StartResult } from '../daemon/daemon.ts'
import { readDaemonInfo } from '../daemon/daemon-info.ts'
import type { Daemon } from '../daemon/started-daemon.ts'
import { type ApiClient, createApiClient } from './api-client.ts'
import type { CommandContext } from './command.ts'
import { CommandError, exitCodes, interrupted } from './command-error.ts'

/** A Familiar that answers, and how to let go of it. */
export interface Connection {
  client: ApiClient
  /** The daemon of this home; undefined where Familiar runs inside this process for as long as the command does. */
  daemon: { pid: number; url: string } | undefined
  close(): Promise<void>
}

export interface ConnectOptions {
  /** Something is said: where Familiar runs inside this process, it also takes up what an earlier run left. */
  talks?: boolean
  /** The work ends by itself on Ctrl-C. Otherwise it is left where it is. */
  endsOnAbort?: boolean
}

// Another short command may hold the home: it is gone in a moment.
const patienceMs = 5_000
const pauseMs = 100
// With growing pauses, as long as that: one that ends finishes its background work before it lets go of the home.
const mostAttempts = 10

/** The running daemon of this home or, where there is none, one inside this process. The same API either way. */
export async function connect(context: CommandContext, { talks = false }: ConnectOptions = {}): Promise<Connection> {
  const { homePath: home, env, signal } = context
  const deadline = performance.now() + patienceMs
  for (;;) {
    const info = readDaemonInfo(home)
    if (info) return { client: createApiClient(info), daemon: info, close: async () => undefined }
    const { startDaemon } = await import('../daemon/daemon.ts')
    const started = await startDaemon({ home, env, port: 0, host: '127.0.0.1', recover: talks, makeToken: false })
    if (started.ok) return ownConnection(started.daemon, context)
    if (started.reason !== 'locked') throw startFailure(started, home)
    if (performance.now() >= deadline) throw heldBy(started, home)
    await wait(pauseMs, undefined, { signal })
  }
}

/**
 * Connects, works and lets go. Where the Familiar that answered ends meanwhile (it may live in another command that is
 * done now), the work begins again on another one: it must bear that.
 */
export async function withFamiliar<T>(
  context: CommandContext,
  work: (client: ApiClient, connection: Connection) => Promise<T>,
  options: ConnectOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const connection = await connect(context, options)
    try {
      const working = work(connection.client, connection)
      return await (options.endsOnAbort ? working : Promise.race([working, untilAborted(context.signal)]))
    } catch (error) {
      if (!connection.daemon || attempt === mostAttempts || context.signal.aborted || !isGone(error)) throw error
      await wait(pauseMs * attempt)
    } finally {
      await connection.close()
    }
  }
}

/** What stands in the way of a start, as the command's end. */
export function startFailure(failure: Extract<StartResult, { ok: false }>, home: string): CommandError {
  switch (failure.reason) {
    case 'config': {
      const lines = formatProblems(failure.problems, home).map((line) => `  ${line}`)
      const title = `The configuration in ${home} has ${lines.length === 1 ? 'a problem' : `${lines.length} problems`}:`
      return new CommandError([title, ...lines].join('\n'), { code: 'config', hint: 'Mend it and try again.' })
    }
    case 'locked':
      return heldBy(failure, home)
    default:
      return new CommandError(failure.message, { code: failure.reason, hint: failure.hint })
  }
}

async function ownConnection(daemon: Daemon, context: CommandContext): Promise<Connection> {
  return {
    client: createApiClient(daemon),
    daemon: undefined,
    // Whatever is cut off goes on from its last step when Familiar runs again.
    close: () => daemon.close(context.signal.aborted ? 1_000 : 5_000),
  }
}

function heldBy(holder: { pid: number | null }, home: string): CommandError {
  const who = holder.pid === null ? 'Another process' : `Process ${holder.pid}`
  return new CommandError(`${who} holds ${home} and does not answer yet.`, {
    exitCode: exitCodes.unreachable,
    code: 'locked',
    hint: holder.pid === null ? 'Try again in a moment.' : `Try again in a moment, or end it: kill ${holder.pid}`,
  })
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(interrupted())
    signal.addEventListener('abort', () => reject(interrupted()), { once: true })
  })
}

/** Nobody answers any more, or says that it is about to stop. */
export function isGone(error: unknown): boolean {
  return error instanceof CommandError && (error.code === 'unreachable' || error.code === 'unavailable')
}
