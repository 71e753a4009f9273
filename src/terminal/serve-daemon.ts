import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, systemClock } from '../base/clock.ts'
import { formatProblems } from '../daemon/config/config.ts'
import { type Daemon, type StartResult, startDaemon } from '../daemon/daemon.ts'
import { describeMissingLog } from '../daemon/doctor/check-database.ts'
import { homePaths, version } from '../daemon/home-paths.ts'
import type { DaemonRole } from '../fleet/fleet.ts'
import { type CommandContext, CommandError, confirm } from './command.ts'
import { describeReload } from './commands/daemon.ts'
import { startFailure } from './connect.ts'

export interface ListenInput {
  port?: number
  host?: string
  role?: DaemonRole
}

/** Starts the daemon in this process. On a terminal, a taken port is answered with the next free one. */
async function serveDaemon(
  context: CommandContext,
  input: ListenInput,
  writeLine?: (line: string) => void,
): Promise<Daemon> {
  const { homePath: home, env, output } = context
  const { host, role } = input
  const options = {
    home,
    env,
    ...(host !== undefined && { host }),
    ...(role && { role }),
    ...(writeLine && { writeLine }),
  }
  const started = await startDaemon({ ...options, ...(input.port !== undefined && { port: input.port }) })
  if (started.ok) {
    settleMemory(systemClock())
    return started.daemon
  }
  if (started.reason !== 'port') throw cannotServe(started, home)
  const port = await nextFreePort(started.message, input.host ?? '127.0.0.1')
  if (port === undefined || !context.stdin.isTTY || !context.stderr.isTTY) throw portTaken(started.message, port)
  output.note(started.message)
  if (!(await confirm(context, `Use port ${port} instead?`, { byDefault: true })))
    throw portTaken(started.message, port)
  return serveDaemon(context, { ...input, port }, writeLine)
}

/** The database cannot be reached at this moment; it may start later. */
class DatabaseUnreachable extends CommandError {}

const maxPauseMs = 15_000

/** Also waits for a PostgreSQL that is not there yet: after a reboot both start at once. Undefined after a stop. */
export async function serveWhenReachable(
  context: CommandContext,
  input: ListenInput,
  writeLine?: (line: string) => void,
): Promise<Daemon | undefined> {
  const { output, signal } = context
  for (let pauseMs = 500; !signal.aborted; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await serveDaemon(context, input, writeLine)
    } catch (cause) {
      if (!(cause instanceof DatabaseUnreachable)) throw cause
      output.note(`${cause.message} Trying again in ${Math.ceil(pauseMs / 1_000)} s.`)
      await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
  return undefined
}

/** Prints the address and, if it was just created, the token, which is shown only here. */
export async function announce(
  context: CommandContext,
  daemon: Daemon,
  { json = false, role }: { json?: boolean; role?: DaemonRole },
): Promise<void> {
  const { output, homePath } = context
  const { commandLine } = output
  const { url, newToken, recovered, warnings } = daemon
  if (!json) output.print(`${output.style('bold', `Familiar ${version}`)} is running at ${output.style('cyan', url)}`)
  for (const warning of warnings) output.note(`${output.style('yellow', 'Warning:')} ${warning}`)
  const token = newToken ?? null
  // A worker answers no page.
  const signIn = role === 'worker' ? null : await daemon.signInLink()
  if (json) {
    const value = { url, home: homePath, model: daemon.model(), pid: process.pid, token, sign_in: signIn, recovered }
    return output.printJson(value)
  }
  if (signIn !== null)
    output.print(`Page:  ${output.style('cyan', signIn)} (works once; for another: ${commandLine('sign-in')})`)
  output.print(`Home:  ${homePath}`)
  output.print(`Model: ${describeModel(daemon.model(), commandLine('setup'))}`)
  if (recovered.missingSince !== null)
    output.print(describeMissingLog(homePaths(homePath).database, recovered.missingSince))
  else if (recovered.uncleanStop) output.print('The last stop was not clean. The database was checked: no damage.')
  if (recovered.resumedTurns + recovered.queuedMessages > 0) {
    output.print(`Resuming ${recovered.resumedTurns} interrupted turns and ${recovered.queuedMessages} messages.`)
  }
  if (!newToken) return
  output.print()
  output.print(`Token for the HTTP API, shown only once: ${output.style('bold', newToken)}`)
  output.print(`Send it as "Authorization: Bearer TOKEN". For a new one: ${commandLine('tokens rotate')}`)
  output.print()
}

/** SIGHUP reads the configuration again. A broken one changes nothing and is reported. */
export function reloadOnHangup(context: CommandContext, daemon: Daemon): void {
  const { output, homePath } = context
  context.onHangup(() => {
    daemon.reload().then(
      (problems) => {
        if (problems.length === 0) {
          const reply = { ok: true, problems: [], restart_needed: daemon.restartNeeded(), model: daemon.model() }
          for (const line of describeReload(reply)) output.print(line)
          return
        }
        output.note('The configuration has problems; the previous one stays active:')
        for (const line of formatProblems(problems, homePath)) output.note(`  ${line}`)
      },
      (error: unknown) => output.note(`The configuration could not be read: ${String(error)}`),
    )
    return 'go on'
  })
}

/** The same beside a chat, which draws the screen: nothing is printed, and a terminal that was closed ends the command. */
export function reloadBesideChat(context: CommandContext, daemon: Daemon): void {
  context.onHangup(() => {
    if (!hasTerminal()) return 'end'
    void daemon.reload().catch(() => undefined)
    return 'go on'
  })
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

function describeModel(model: string, setup: string): string {
  if (!model.startsWith('offline')) return model
  return `${model}: it remembers and recalls, but is not a language model. To connect one: ${setup}`
}

function cannotServe(failure: Extract<StartResult, { ok: false }>, home: string): CommandError {
  if (failure.reason === 'unreachable') {
    return new DatabaseUnreachable(failure.message, { code: 'database', hint: failure.hint })
  }
  if (failure.reason !== 'locked') return startFailure(failure, home)
  const { pid, url } = failure
  const who = [pid === null ? '' : `process ${pid}`, url ?? 'still starting'].filter(Boolean).join(', ')
  const hint = pid === null ? undefined : `Use "familiar chat", or stop it: familiar stop`
  return new CommandError(`Familiar is already running on ${home} (${who}).`, { code: 'locked', hint })
}

function portTaken(message: string, free: number | undefined): CommandError {
  const hint = free === undefined ? 'Choose another port with --port N.' : `Port ${free} is free: --port ${free}`
  return new CommandError(message, { code: 'port', hint })
}

async function nextFreePort(message: string, host: string): Promise<number | undefined> {
  const taken = Number(/\d+/.exec(message)?.[0] ?? 0)
  for (let port = taken + 1; taken > 0 && port <= Math.min(taken + 50, 65_535); port += 1) {
    if (await isFree(port, host)) return port
  }
  return undefined
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host }, () => probe.close(() => resolve(true)))
  })
}

const settleMs = 1_000

/**
 * Frees the memory that starting used, a sixth of an idle daemon's: nothing else collects it while the daemon is idle. It
 * takes some 40 ms, once. Only with `--expose-gc`, which the launcher sets.
 */
function settleMemory(clock: Clock): void {
  const { gc } = globalThis
  if (gc) clock.after(settleMs, () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }))
}
