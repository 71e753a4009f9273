import { rmSync } from 'node:fs'
import type { CommandHandler } from '../command.ts'
import { notInstalled, ownManager, refuseForeign, whoseFile } from './own-service.ts'
import { tellManager } from './service-manager.ts'

/** Stops the service and takes its file away. What it has written stays. */
export const uninstallService: CommandHandler<{ force?: boolean }> = async (context, input) => {
  const { output, env, signal, homePath } = context
  const manager = ownManager(context)
  const whose = whoseFile(manager.path)
  if (whose === 'none') throw notInstalled()
  if (whose === 'foreign' && !input.force) throw refuseForeign(manager.path)
  const stopped = await tellManager(manager.stop, { env, signal })
  rmSync(manager.path)
  if (stopped.ok) await tellManager(manager.forget, { env, signal })
  if (input.json)
    output.printJson({ path: manager.path, stopped: stopped.ok, problem: stopped.ok ? null : stopped.message })
  else {
    output.print(`Removed: ${manager.path}. The home stays: ${homePath}`)
    if (!stopped.ok) output.note(`It was not stopped: ${stopped.message}`)
  }
  return undefined
}
