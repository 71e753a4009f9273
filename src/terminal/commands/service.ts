import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { writeFileAtomically } from '../../base/files.ts'
import { findProgram } from '../../base/processes.ts'
import { readDaemonInfo } from '../../daemon/daemon-lock.ts'
import { homePaths, resolveHome } from '../../daemon/home-paths.ts'
import { type CommandContext, CommandError, type CommandHandler, exitCodes } from '../command.ts'
import { requireHome } from '../local-home.ts'
import {
  notInstalled,
  ownManager,
  refuseForeign,
  type ServiceDefinition,
  serviceState,
  tellManager,
  whoseFile,
} from './service-manager.ts'
import { findInstallation } from './update-program.ts'

/** Stops the service and removes its file. Data stays. */
export const uninstallService: CommandHandler<{ force?: boolean }> = async (context, input) => {
  const { output, env, signal, homePath } = context
  const manager = ownManager(context)
  const whose = whoseFile(manager.path)
  if (whose === 'none') throw notInstalled()
  if (whose === 'foreign' && !input.force) throw refuseForeign(manager.path)
  const stopped = await tellManager(manager.stop, { env, signal })
  rmSync(manager.path)
  if (stopped.ok) await tellManager(manager.forget, { env, signal })
  const problem = stopped.ok ? null : stopped.message
  return output.report(input.json, { path: manager.path, stopped: stopped.ok, problem }, () => {
    output.print(`Removed: ${manager.path}. Your data stays in ${homePath}`)
    if (problem !== null) output.note(`It was not stopped: ${problem}`)
  })
}

/** Writes the service file and has the manager start it. */
export const installService: CommandHandler<{ dryRun?: boolean; force?: boolean }> = async (context, input) => {
  const { output } = context
  const manager = ownManager(context)
  const text = manager.write(definitionOf(context))
  if (input.dryRun) {
    const value = { path: manager.path, text, written: false }
    return output.report(input.json, value, `${text}\nWould be written to ${manager.path}`)
  }
  const whose = whoseFile(manager.path)
  if (whose === 'foreign' && !input.force) throw refuseForeign(manager.path)
  await requireHome(context)
  mkdirSync(dirname(manager.path), { recursive: true })
  await writeFileAtomically(manager.path, text, 0o644)
  // A running service still uses the old file.
  const restart = whose === 'none' ? [] : manager.restart
  const started = await tellManager([...manager.start, ...restart], context)
  const problem = started.ok ? null : started.message
  const start = manager.start.map((words) => words.join(' '))
  output.report(input.json, { path: manager.path, written: true, started: started.ok, problem, start }, () => {
    output.print(`Written: ${manager.path}`)
    if (started.ok) {
      output.print(`Started. Status: ${output.commandLine('service status')}`)
      return output.note(manager.hint)
    }
    output.print(`It was not started: ${problem}`)
    return ['To start it yourself:', ...start].join('\n  ')
  })
  return started.ok ? exitCodes.fine : exitCodes.failed
}

function definitionOf({ env, homePath }: CommandContext): ServiceDefinition {
  const installation = findInstallation()
  if (installation.kind === 'npx') {
    throw new CommandError('npx runs this program from a cache that may be deleted at any time.', {
      code: 'unsupported',
      hint: 'Install it first: npm install -g familiar',
    })
  }
  // Not the link of a version manager's shell: a service has no shell.
  const command = [process.execPath, installation.command, 'serve']
  if (homePath !== resolveHome({}, homedir())) command.push('--home', homePath)
  const logFile = join(homePaths(homePath).log, 'service.log')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no file of a service can hold them all.
  const unwritable = [...command, logFile].find((word) => /[\u0000-\u001f\u007f]/.test(word))
  if (unwritable !== undefined) {
    throw new CommandError(`A service cannot name ${JSON.stringify(unwritable)}: it contains control characters.`, {
      hint: 'Another home: --home PATH.',
    })
  }
  return { command, environment: { PATH: env.PATH ?? '/usr/local/bin:/usr/bin:/bin' }, logFile }
}

export const restartService: CommandHandler<object> = async (context, input) => {
  const manager = ownManager(context)
  if (whoseFile(manager.path) === 'none') throw notInstalled()
  const restarted = await tellManager(manager.restart, context)
  if (!restarted.ok)
    throw new CommandError(`It was not restarted: ${restarted.message}`, { hint: 'familiar service status' })
  return context.output.report(input.json, { restarted: true }, 'Restarted.')
}

/** Shows the journal of the service or, without one, the log in the home. */
export const serviceLogs: CommandHandler<{ follow?: boolean; limit: number }> = async (context, input) => {
  const [program = '', ...words] = await reader(context, input)
  const { env, signal } = context
  const child = spawn(program, words, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...env } })
  signal.addEventListener('abort', () => child.kill(), { once: true })
  const [code] = await once(child, 'close')
  return code === 0 || signal.aborted ? exitCodes.fine : exitCodes.failed
}

async function reader(
  context: CommandContext,
  { follow, limit, json }: { follow?: boolean; limit: number; json?: boolean },
): Promise<string[]> {
  const manager = ownManager(context)
  const searchPath = context.env.PATH ?? ''
  const journal = manager.name === 'systemd' && (await findProgram(['journalctl'], searchPath))
  // Without a runtime directory there is no manager of this user, and so no journal of its services.
  if (journal && whoseFile(manager.path) !== 'none' && context.env.XDG_RUNTIME_DIR) {
    const format = json ? '--output=json' : '--output=short-iso'
    const words = ['--user', '--unit=familiar.service', '--no-pager', `--lines=${limit}`, format]
    return [journal, ...words, ...(follow ? ['--follow'] : [])]
  }
  const file = newestLog(homePaths(context.homePath).log)
  if (!file) throw new CommandError('There is no log yet.', { code: 'not_found' })
  const tail = await findProgram(['tail'], searchPath)
  if (!tail) throw new CommandError(`The program "tail" is missing. The log is in ${file}.`)
  return [tail, '-n', String(limit), ...(follow ? ['-F'] : []), '--', file]
}

function newestLog(directory: string): string | undefined {
  const service = join(directory, 'service.log')
  if (process.platform === 'darwin' && existsSync(service)) return service
  const logs = globSync('familiar-*.log', { cwd: directory }).map((name) => join(directory, name))
  return logs.sort((one, other) => statSync(one).mtimeMs - statSync(other).mtimeMs).at(-1)
}

/** Exits with 0 if the service runs, for scripts. */
export const showService: CommandHandler<object> = async (context, input) => {
  const { output, env, signal, homePath } = context
  const manager = ownManager(context)
  const file = whoseFile(manager.path)
  const state = file === 'none' ? undefined : await serviceState(manager, { env, signal })
  const daemon = readDaemonInfo(homePath)
  const value = {
    manager: manager.name,
    path: manager.path,
    file,
    active: state?.isActive ?? null,
    pid: state?.pid ?? null,
    daemon: daemon ? { pid: daemon.pid, url: daemon.url } : null,
  }
  const files = {
    none: 'not installed (familiar service install)',
    ours: manager.path,
    foreign: `${manager.path}, not written by Familiar`,
  }
  output.report(input.json, value, {
    rows: [
      ['File', files[file]],
      ['Service', describe(file, state)],
      ['Daemon', daemon ? `${daemon.url}, process ${daemon.pid}` : 'not running'],
    ],
  })
  return state?.isActive ? exitCodes.fine : exitCodes.failed
}

function describe(file: string, state: { isActive: boolean; pid: number | undefined } | undefined): string {
  if (file === 'none') return 'none'
  if (!state) return 'the service manager does not answer'
  return state.isActive ? `running${state.pid ? `, process ${state.pid}` : ''}` : 'stopped'
}
