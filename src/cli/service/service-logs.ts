import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../../base/find-program.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, exitCodes, usageError } from '../command-error.ts'
import { ownManager, whoseFile } from './own-service.ts'

/** Shows the journal of the service or, where there is none, the daemon's own log in the home. */
export const serviceLogs: CommandHandler<{ follow?: boolean; lines: string }> = async (context, input) => {
  if (!/^\d{1,6}$/.test(input.lines)) throw usageError('--lines is a number of lines.')
  const [program = '', ...words] = await reader(context, input)
  const { env, signal } = context
  const child = spawn(program, words, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...env } })
  signal.addEventListener('abort', () => child.kill(), { once: true })
  const [code] = await once(child, 'close')
  return code === 0 || signal.aborted ? exitCodes.fine : exitCodes.failed
}

async function reader(
  context: CommandContext,
  { follow, lines, json }: { follow?: boolean; lines: string; json?: boolean },
): Promise<string[]> {
  const manager = ownManager(context)
  const searchPath = context.env.PATH ?? ''
  const journal = manager.name === 'systemd' && (await findProgram(['journalctl'], searchPath))
  // Without a runtime directory there is no manager of this user, and so no journal of its services.
  if (journal && whoseFile(manager.path) !== 'none' && context.env.XDG_RUNTIME_DIR) {
    const output = json ? ['--output=json'] : ['--output=short-iso']
    return [
      journal,
      '--user',
      '--unit=familiar.service',
      '--no-pager',
      `--lines=${lines}`,
      ...output,
      ...(follow ? ['--follow'] : []),
    ]
  }
  const file = newestLog(homePaths(context.homePath).log)
  if (!file) throw new CommandError('Nothing has been logged yet.', { code: 'not_found' })
  const tail = await findProgram(['tail'], searchPath)
  if (!tail) throw new CommandError(`There is no "tail" here to show ${file}.`)
  return [tail, '-n', lines, ...(follow ? ['-F'] : []), '--', file]
}

function newestLog(directory: string): string | undefined {
  const service = join(directory, 'service.log')
  if (process.platform === 'darwin' && existsSync(service)) return service
  const logs = globSync('familiar-*.log', { cwd: directory }).map((name) => join(directory, name))
  return logs.sort((one, other) => statSync(one).mtimeMs - statSync(other).mtimeMs).at(-1)
}
