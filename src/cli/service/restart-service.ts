import type { CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { notInstalled, ownManager, whoseFile } from './own-service.ts'
import { tellManager } from './service-manager.ts'

export const restartService: CommandHandler<object> = async (context, input) => {
  const { output, env, signal } = context
  const manager = ownManager(context)
  if (whoseFile(manager.path) === 'none') throw notInstalled()
  const told = await tellManager(manager.restart, { env, signal })
  if (!told.ok) throw new CommandError(`It was not restarted: ${told.message}`, { hint: 'familiar service status' })
  if (input.json) output.printJson({ restarted: true })
  else output.print('Restarted.')
  return undefined
}
