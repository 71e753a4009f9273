import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homePaths } from '../../daemon/home-paths.ts'
import type { CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { confirm } from '../confirm.ts'

/** A running Familiar notices within seconds; a model that is in use is let finish. */
export const removeVoice: CommandHandler<{ yes?: boolean }> = async (context, input) => {
  const { homePath, output } = context
  const directory = homePaths(homePath).voice
  const wasThere = existsSync(directory)
  if (wasThere && !input.yes && !(await confirm(context, `Remove ${directory} with all voice models?`))) {
    output.note('Nothing was changed.')
    return exitCodes.failed
  }
  await rm(directory, { recursive: true, force: true })
  if (input.json) output.printJson({ directory, removed: wasThere })
  else output.print(wasThere ? `Removed ${directory}.` : 'There was nothing to remove.')
  return undefined
}
