import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { writeFileAtomically } from '../../base/safe-file.ts'
import { openHome } from '../../daemon/home.ts'
import { homePaths, resolveHome } from '../../daemon/home-paths.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { findInstallation } from '../update/installation.ts'
import { ownManager, refuseForeign, whoseFile } from './own-service.ts'
import type { ServiceDefinition } from './service-definition.ts'
import { type ServiceManager, tellManager } from './service-manager.ts'

/** Writes the file, which everybody can read and only this user runs, and has the manager start it. */
export const installService: CommandHandler<{ dryRun?: boolean; force?: boolean }> = async (context, input) => {
  const { output, homePath } = context
  const manager = ownManager(context)
  const text = manager.write(definitionOf(context))
  if (input.dryRun) {
    if (input.json) output.printJson({ path: manager.path, text, written: false })
    else output.print(`${text}\nIt would be written to ${manager.path}`)
    return undefined
  }
  const whose = whoseFile(manager.path)
  if (whose === 'foreign' && !input.force) throw refuseForeign(manager.path)
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  mkdirSync(dirname(manager.path), { recursive: true })
  await writeFileAtomically(manager.path, text, 0o644)
  const started = await start(manager, context, whose !== 'none')
  if (input.json) {
    const problem = started.ok ? null : started.message
    output.printJson({ path: manager.path, written: true, started: started.ok, problem, start: commands(manager) })
    return undefined
  }
  output.print(`Written: ${manager.path}`)
  if (started.ok) {
    output.print('Started. To look at it: familiar service status')
    output.note(manager.hint)
  } else {
    output.print(`It was not started: ${started.message}`)
    output.print(`Where the services of your user run, start it by:`)
    for (const command of commands(manager)) output.print(`  ${command}`)
  }
  return undefined
}

function start(manager: ServiceManager, { env, signal }: CommandContext, isThere: boolean) {
  // What is there may be running with the file of before.
  return tellManager(isThere ? [...manager.start, ...manager.restart] : manager.start, { env, signal })
}

function commands(manager: ServiceManager): string[] {
  return manager.start.map((words) => words.join(' '))
}

function definitionOf({ env, homePath }: CommandContext): ServiceDefinition {
  const installation = findInstallation()
  if (installation.kind === 'npx') {
    throw new CommandError('npx keeps this program in a cache, from which it may vanish at any time.', {
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
    throw new CommandError(`A service cannot name ${JSON.stringify(unwritable)}: it has control characters.`, {
      hint: 'Another home: --home PATH.',
    })
  }
  return { command, environment: { PATH: env.PATH ?? '/usr/local/bin:/usr/bin:/bin' }, logFile }
}
