import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../base/clock.ts'
import { findProgram } from '../../base/processes.ts'
import { formatCount, formatDollars, formatDuration, plural } from '../../base/text.ts'
import { readDaemonInfo, readLiveRecord } from '../../daemon/daemon-lock.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { type MonitorReply, type StatusReply, sessions } from '../../protocol/api.ts'
import { outbox } from '../../protocol/channels.ts'
import { signIn as signInApi } from '../../protocol/page.ts'
import { home } from '../../protocol/status.ts'
import { timeForFileName } from '../../storage/sqlite/connection.ts'
import { copyDatabase, restoreSqlite } from '../../storage/sqlite/copy-database.ts'
import { type CommandContext, CommandError, type CommandHandler, exitCodes, isConfirmed } from '../command.ts'
import {
  type Answer,
  type Api,
  type ApiClient,
  apiCommand,
  type Connection,
  createApiClient,
  findSession,
  withApi,
  withFamiliar,
} from '../connect.ts'
import { lockHome, requireHome } from '../local-home.ts'
import { requireFile } from '../open-beside.ts'
import { knownManager, whoseFile } from './service-manager.ts'

export const status: CommandHandler<object> = async (context, input) => {
  const { homePath, output } = context
  const [reply, daemon, { counts }] = await withFamiliar(
    context,
    async ({ api }, { daemon }) => [await api(home).status(), daemon, await api(outbox).list({ limit: 1 })] as const,
  )
  const address = daemon ? { pid: daemon.pid, url: daemon.url } : null
  const { stats } = reply
  return output.report(input.json, { ...reply, outbox: counts, daemon: address, home: homePath }, () => {
    output.print(output.style('bold', `${reply.name} ${reply.version}`))
    output.printFields([
      ['Daemon', address ? `${address.url}, process ${address.pid}` : 'not running (familiar serve)'],
      ['Up for', address && formatDuration(reply.uptime_seconds * 1_000)],
      ['Model', stats?.model],
      ['Sessions', stats && plural(stats.sessions, 'active session')],
      ['Turns', stats && `${stats.turns_running} running, ${plural(stats.messages_waiting, 'message')} waiting`],
      ['Today', stats && costToday(stats)],
      ['Outbox', describeUndelivered(counts)],
      ['Home', homePath],
    ])
  })
}

/** Empty if everything was delivered. */
function describeUndelivered({ pending, sending, unknown, failed }: Answer<typeof outbox.list>['counts']): string {
  const groups = [
    [pending + sending, 'waiting'],
    [unknown, 'with unknown result'],
    [failed, 'failed'],
  ] as const
  const parts = groups.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []))
  return parts.length === 0 ? '' : `${parts.join(', ')} (familiar outbox)`
}

function costToday(stats: NonNullable<StatusReply['stats']>): string {
  const unpriced = stats.unpriced_calls_today > 0 ? `, ${stats.unpriced_calls_today} of them without a price` : ''
  const estimated = stats.estimated_calls_today > 0 ? `, ${stats.estimated_calls_today} of them estimated` : ''
  return `${formatDollars(stats.cost_today_usd)} in ${plural(stats.calls_today, 'model call')}${unpriced}${estimated}`
}

/** Copies the database, whether or not a daemon has it open: what appears is one checked file of this moment. */
export const backup: CommandHandler<{ path?: string }> = async (context, input) => {
  const { homePath, output, stderr } = context
  requireFile(context, 'pg_dump copies it; a copy in a file of Familiar’s own: familiar migrate --to FILE')
  const paths = homePaths(homePath)
  if (!existsSync(paths.database)) {
    throw new CommandError(`There is no database in ${homePath} yet.`, {
      code: 'not_found',
      hint: 'Another home: --home PATH.',
    })
  }
  const target = input.path ? resolve(input.path) : join(paths.backups, `familiar-${timeForFileName(Date.now())}.db`)
  await copyDatabase({
    databasePath: paths.database,
    targetPath: target,
    onProgress(done, total) {
      if (stderr.isTTY) stderr.write(`\r\u001b[K${Math.floor((done / Math.max(1, total)) * 100)}%`)
    },
  }).finally(() => stderr.isTTY && stderr.write('\r\u001b[K'))
  return output.report(input.json, { path: target }, () => {
    output.print(target)
    output.note(
      `Verified. Attachments in ${paths.media} are not included. To restore it: ${output.commandLine(`restore ${target}`)}`,
    )
  })
}

/** A running turn is given ten seconds to finish its step; then the daemon closes what it has open. */
const stopPatienceMs = 30_000

export const cancel = apiCommand(
  sessions,
  async (api, { session }: { session: string }, { client }) =>
    api.stop({ id: (await findSession(client, session)).id }),
  ({ stopped }) => (stopped ? 'Canceled.' : 'No reply was in progress.'),
)

/** Stops the daemon of this home and waits until it has ended. With a session, as in earlier versions, cancels its reply. */
export const stop: CommandHandler<{ session?: string }> = async (context, input) => {
  const { output } = context
  const { session, json } = input
  if (session !== undefined) {
    output.note(`"familiar stop SESSION" is deprecated: use "familiar cancel ${session}".`)
    return cancel(context, { session, ...(json && { json }) })
  }
  const pid = await stopDaemon(context)
  return output.report(
    json,
    { stopped: pid !== null, pid },
    pid === null ? 'Familiar is not running.' : `Stopped (process ${pid}).`,
  )
}

export const reload: CommandHandler<object> = async (context, input) => {
  const reply = await reloadDaemon(context)
  if (reply === undefined) {
    const hint = `Start it: ${context.output.commandLine('start')}`
    throw new CommandError('Familiar is not running, so there is nothing to reload.', { code: 'unreachable', hint })
  }
  if (!reply.ok) {
    const lines = ['The configuration has problems, so the one before stays in use:', ...reply.problems]
    const hint = 'Correct the file and run the command again.'
    throw new CommandError(lines.join('\n  '), { code: 'config', hint })
  }
  return context.output.report(input.json, reply, describeReload(reply).join('\n'))
}

/** Restarts the service. A daemon in a terminal belongs to that terminal: there the command says what to do. */
export const restart: CommandHandler<object> = async (context, input) => {
  const manager = knownManager(context)
  if (manager && whoseFile(manager.path) === 'ours') {
    const { restartService } = await import('./service.ts')
    return restartService(context, input)
  }
  const record = readLiveRecord(context.homePath)
  const start = context.output.commandLine('start')
  if (!record) throw new CommandError('Familiar is not running.', { code: 'unreachable', hint: `Start it: ${start}` })
  throw new CommandError(`Familiar runs in a terminal (process ${record.pid}), so it cannot be restarted from here.`, {
    code: 'unsupported',
    hint: `Press Ctrl-C there, then run: ${start}`,
  })
}

/** Removes the service and, with `--data`, the home. The program is removed the way it was installed. */
export const uninstall: CommandHandler<{ data?: boolean; yes?: boolean }> = async (context, input) => {
  const { output, homePath } = context
  const { config, database } = homePaths(homePath)
  if (input.data && ![config, database].some((path) => existsSync(path))) {
    throw new CommandError(`There is no Familiar home at ${homePath}, so nothing was deleted.`, {
      code: 'no_home',
      hint: 'Check --home and FAMILIAR_HOME.',
    })
  }
  const manager = knownManager(context)
  const service = manager !== undefined && whoseFile(manager.path) === 'ours' ? manager.path : undefined
  const running = readLiveRecord(homePath)
  output.note('This will:')
  for (const line of [
    ...(running ? [`stop Familiar (process ${running.pid})`] : []),
    ...(service ? [`remove the service ${service}`] : []),
    input.data ? `delete ${homePath} with all conversations, memories and tools` : `keep your data in ${homePath}`,
  ])
    output.note(`  - ${line}`)
  if (!(await isConfirmed(context, input, 'Continue?'))) return undefined
  // Only the result goes to standard output.
  const quiet = { ...context, output: { ...output, print: (text = '') => output.note(text) } }
  if (service) await (await import('./service.ts')).uninstallService(quiet, {})
  const pid = await stopDaemon(context)
  if (input.data) await rm(homePath, { recursive: true, force: true })
  const value = { stopped: pid !== null, service_removed: service !== undefined, data_deleted: input.data === true }
  return output.report(input.json, value, () => {
    output.print(input.data ? `Deleted: ${homePath}` : `Your data stays in ${homePath}`)
    output.print('To remove the program: delete its folder, or run "npm uninstall -g familiar".')
  })
}

/** Undefined if no daemon runs in this home. */
export async function reloadDaemon({
  homePath,
}: Pick<CommandContext, 'homePath'>): Promise<Answer<typeof home.reload> | undefined> {
  const info = readDaemonInfo(homePath)
  return info && createApiClient(info).api(home).reload()
}

export function describeReload({ model, restart_needed }: Answer<typeof home.reload>): string[] {
  const later = restart_needed.length > 0 ? [`Restart Familiar to apply: ${restart_needed.join(', ')}`] : []
  return [`Configuration reloaded. Model: ${model}`, ...later]
}

/** The process that was stopped; null if none ran. */
async function stopDaemon({ homePath, signal }: CommandContext): Promise<number | null> {
  const record = readLiveRecord(homePath)
  if (!record) return null
  process.kill(record.pid, 'SIGTERM')
  const deadline = performance.now() + stopPatienceMs
  while (readLiveRecord(homePath)?.pid === record.pid) {
    if (performance.now() > deadline) {
      throw new CommandError(`Process ${record.pid} did not stop within ${stopPatienceMs / 1_000} s.`, {
        code: 'timeout',
        hint: `Wait, or end it at once: kill -9 ${record.pid}. Nothing that was acknowledged is lost.`,
      })
    }
    await wait(50, undefined, { signal })
  }
  return record.pid
}

const lookEveryMs = 500

export const monitor: CommandHandler<{ watch?: boolean }> = async (context, input) => {
  if (input.watch)
    return withFamiliar(context, (...familiar) => watch(context, ...familiar, input.json), { endsOnAbort: true })
  return show(context, await withFamiliar(context, ({ api }) => api(home).monitor()), input.json)
}

async function watch(context: CommandContext, client: ApiClient, { daemon }: Connection, json: boolean | undefined) {
  const { stdout, signal } = context
  if (!daemon) {
    throw new CommandError('Familiar is not running, so there is nothing to watch.', {
      exitCode: exitCodes.unreachable,
      code: 'unreachable',
      hint: 'Start it: familiar serve',
    })
  }
  let shown = ''
  while (!signal.aborted) {
    const reply = await client.api(home).monitor()
    // A terminal shows running times; a pipe gets only changes.
    const state = stdout.isTTY
      ? describeMonitor(reply, Date.now()).join('\n')
      : JSON.stringify({ ...reply, updated_at: '' })
    if (state !== shown) {
      if (stdout.isTTY && !json) stdout.write(clearScreen)
      show(context, reply, json)
    }
    shown = state
    await wait(lookEveryMs, undefined, { signal }).catch(() => undefined)
  }
  // Watching has no other end than Ctrl-C: that is how it is meant.
  return exitCodes.fine
}

const clearScreen = '\u001b[H\u001b[2J'

function show({ output }: CommandContext, reply: MonitorReply, json: boolean | undefined): undefined {
  return output.report(json, reply, () => describeMonitor(reply, Date.now()).join('\n'))
}

/** One line for the whole, one for each turn under way. */
export function describeMonitor(reply: MonitorReply, now: number): string[] {
  if (reply.turns.length === 0) return ['idle']
  return [
    `${words[reply.state]} (${reply.turns.length} ${reply.turns.length === 1 ? 'turn' : 'turns'})`,
    ...reply.turns.map((turn) => {
      const doing = turn.state === 'tools' ? turn.tools.join(', ') || words.tools : words[turn.state]
      const tokens = `${formatCount(turn.input_tokens)} in, ${formatCount(turn.output_tokens)} out`
      const since = formatDuration(Math.max(0, now - Date.parse(turn.started_at)))
      return `  ${turn.contact}: ${doing}, ${since}, round ${turn.round}, ${turn.model}, ${tokens}`
    }),
  ]
}

const words = { idle: 'idle', thinking: 'thinking', tools: 'running tools', retry_wait: 'waiting to retry' }

/** Archives: the messages stay in the archive and in memory, and the next message starts a new session. */
export const reset: CommandHandler<{ session: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  const { session: target } = input
  const what = target === 'all' ? 'every session' : `the session ${target}`
  if (!(await isConfirmed(context, input, `Archive ${what} and start a new one?`))) return exitCodes.failed
  const reply = await withFamiliar(context, async (client) =>
    client.api(sessions).reset({ target: target === 'all' ? target : (await findSession(client, target)).id }),
  )
  return output.report(input.json, reply, () => {
    output.print(`${plural(reply.archived.length, 'session')} archived. Nothing was deleted. To read them again:`)
    for (const session of reply.archived)
      output.print(`  ${output.commandLine(`history ${session.id}`)}   (${session.contact})`)
  })
}

/** Puts a checked backup in the database's place. Holds the home meanwhile, so that no daemon can start on half of it. */
export const restore: CommandHandler<{ path: string; yes?: boolean }> = async (context, input) => {
  const { homePath, output } = context
  const backupPath = resolve(input.path)
  if (!existsSync(backupPath)) {
    throw new CommandError(`There is no backup at ${backupPath}.`, {
      code: 'not_found',
      hint: `Backups are usually in ${homePaths(homePath).backups}`,
    })
  }
  const { database: databasePath } = await requireHome(context)
  requireFile(context, 'To bring a file of Familiar’s own there: familiar migrate --from FILE --to postgres://…')
  await using _held = await lockHome(homePath)
  const question = `Replace the database in ${homePath} with ${backupPath}?`
  if (!(await isConfirmed(context, input, question))) return exitCodes.failed
  const options = { backupPath, databasePath, clock: systemClock(), isInUse: () => false }
  const { keptAside } = await restoreSqlite(options)
  return output.report(
    input.json,
    { restored: backupPath, kept_aside: keptAside ?? null },
    `Restored.${keptAside ? ` The previous database is kept: ${keptAside}` : ''}`,
  )
}

/** A link that signs a browser in to the page of the running daemon. */
export const printSignInLink: CommandHandler<{ user?: string }> = async (context, { json, user }) => {
  const { output } = context
  const link = await signInLink(context, user)
  return output.report(json, link, () => {
    output.print(link.url)
    output.note(output.style('dim', `It works once, within ${link.minutes} minutes.`))
  })
}

/** Opens the page in the browser of this machine, or prints the link if there is none. */
export const openPage: CommandHandler<{ user?: string }> = async (context, { json, user }) => {
  const { output, env } = context
  const link = await signInLink(context, user)
  const program = await findProgram(process.platform === 'darwin' ? ['open'] : ['xdg-open', 'wslview'], env.PATH ?? '')
  const opened = program !== undefined && (await runBrowser(program, link.url))
  return output.report(json, { ...link, opened }, () => {
    if (opened) return `Opened in your browser: ${new URL(link.url).origin}`
    output.print(link.url)
    output.note(`No browser could be opened. Open this link yourself within ${link.minutes} minutes; it works once.`)
    return undefined
  })
}

async function runBrowser(program: string, url: string): Promise<boolean> {
  const child = spawn(program, [url], { stdio: 'ignore', detached: true })
  const code = await Promise.race([
    once(child, 'close').then(([code]) => code as number | null),
    once(child, 'error').then(() => 1),
    // A browser that stays in the foreground has opened.
    wait(2_000, 0, { ref: false }),
  ])
  child.unref()
  return code === 0
}

function signInLink(context: CommandContext, user: string | undefined): Promise<Answer<typeof signInApi.link>> {
  const link = async (api: Api<typeof signInApi>, { daemon }: Connection) => {
    if (daemon) return api.link({ user })
    throw new CommandError('Familiar is not running, so there is no page.', {
      code: 'not_running',
      hint: 'Start it first: familiar serve',
    })
  }
  return withApi(context, signInApi, link, { once: true })
}
