import { createServer } from 'node:net'
import { systemClock } from '../base/clock.ts'
import { formatProblems } from '../daemon/config/config-problem.ts'
import { type StartResult, startDaemon } from '../daemon/daemon.ts'
import type { Daemon } from '../daemon/started-daemon.ts'
import { version } from '../daemon/version.ts'
import type { DaemonRole } from '../storage/fleet.ts'
import type { CommandContext } from './command.ts'
import { CommandError } from './command-error.ts'
import { confirm } from './confirm.ts'
import { startFailure } from './connect.ts'
import { settleMemory } from './settle-memory.ts'

export interface ListenInput {
  port?: number
  host?: string
  role?: DaemonRole
}

/** Starts the daemon in this process. On a terminal, a taken port is answered with the next free one. */
export async function serveDaemon(
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

/** Says what runs where. The token, where one was just made, is shown here and nowhere else. */
export async function announce({ output, homePath }: CommandContext, daemon: Daemon, json: boolean): Promise<void> {
  const { url, newToken, recovered, warnings } = daemon
  if (!json) output.print(`${output.style('bold', `Familiar ${version}`)} serves on ${output.style('cyan', url)}`)
  for (const warning of warnings) output.note(`${output.style('yellow', 'Warning:')} ${warning}`)
  const token = newToken ?? null
  const signIn = await daemon.signInLink()
  if (json) {
    const told = { url, home: homePath, model: daemon.model(), pid: process.pid, token, sign_in: signIn, recovered }
    return output.printJson(told)
  }
  if (signIn !== null)
    output.print(`Page:  ${output.style('cyan', signIn)} (works once; for another: familiar sign-in)`)
  output.print(`Home:  ${homePath}`)
  output.print(`Model: ${describeModel(daemon.model())}`)
  if (recovered.uncleanStop) output.print('The last stop was not clean. The database was checked and is sound.')
  if (recovered.resumedTurns + recovered.queuedMessages > 0) {
    output.print(`Going on with ${recovered.resumedTurns} interrupted turns and ${recovered.queuedMessages} messages.`)
  }
  if (!newToken) return
  output.print()
  output.print(`Token for the HTTP API, shown this once: ${output.style('bold', newToken)}`)
  output.print('Send it as "Authorization: Bearer TOKEN". For a new one: familiar token rotate')
  output.print()
}

/** SIGHUP reads the configuration again. A broken one changes nothing and is told. */
export function reloadOnHangup(context: CommandContext, daemon: Daemon): void {
  const { output, homePath } = context
  context.onHangup(() => {
    daemon.reload().then(
      (problems) => {
        if (problems.length === 0) return output.print(`The configuration was read again. Model: ${daemon.model()}`)
        output.note('The configuration has problems, so the one before stays in use:')
        for (const line of formatProblems(problems, homePath)) output.note(`  ${line}`)
      },
      (error: unknown) => output.note(`The configuration could not be read: ${String(error)}`),
    )
  })
}

function describeModel(model: string): string {
  if (!model.startsWith('offline')) return model
  return `${model}: it remembers and recalls, but is no language model. For one: familiar setup, or ANTHROPIC_API_KEY`
}

function cannotServe(failure: Extract<StartResult, { ok: false }>, home: string): CommandError {
  if (failure.reason !== 'locked') return startFailure(failure, home)
  const { pid, url } = failure
  const who = [pid === null ? '' : `process ${pid}`, url ?? 'still starting'].filter(Boolean).join(', ')
  const hint = pid === null ? undefined : `Talk to it with "familiar chat", or end it: kill ${pid}`
  return new CommandError(`Familiar is already running on ${home} (${who}).`, { code: 'locked', hint })
}

function portTaken(message: string, free: number | undefined): CommandError {
  const hint = free === undefined ? 'Choose another one with --port N.' : `Port ${free} is free: --port ${free}`
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
