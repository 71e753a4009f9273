import { readDaemonInfo } from '../../daemon/daemon-info.ts'
import type { CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { ownManager, whoseFile } from './own-service.ts'
import { serviceState } from './service-manager.ts'

/** Ends with 0 where the service runs, so that a script can ask. */
export const showService: CommandHandler<object> = async (context, input) => {
  const { output, env, signal, homePath } = context
  const manager = ownManager(context)
  const file = whoseFile(manager.path)
  const state = file === 'none' ? undefined : await serviceState(manager, { env, signal })
  const daemon = readDaemonInfo(homePath)
  const isActive = state?.isActive === true
  if (input.json) {
    output.printJson({
      manager: manager.name,
      path: manager.path,
      file,
      active: state ? state.isActive : null,
      pid: state?.pid ?? null,
      daemon: daemon ? { pid: daemon.pid, url: daemon.url } : null,
    })
  } else {
    const files = {
      none: 'not installed (familiar service install)',
      ours: manager.path,
      foreign: `${manager.path}, not ours`,
    }
    output.printTable([
      ['File', files[file]],
      ['Service', describe(file, state)],
      ['Daemon', daemon ? `${daemon.url}, process ${daemon.pid}` : 'not running'],
    ])
  }
  return isActive ? exitCodes.fine : exitCodes.failed
}

function describe(file: string, state: { isActive: boolean; pid: number | undefined } | undefined): string {
  if (file === 'none') return 'none'
  if (!state) return 'its manager does not answer here'
  return state.isActive ? `runs${state.pid ? `, process ${state.pid}` : ''}` : 'does not run'
}
