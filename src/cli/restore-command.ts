import { resolve } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { acquireDaemonLock } from '../daemon/daemon-lock.ts'
import { openHome } from '../daemon/home.ts'
import { restoreSqlite } from '../storage/sqlite/restore-sqlite.ts'
import type { CommandHandler } from './command.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { confirm } from './confirm.ts'
import { requireFile } from './database-url.ts'

/** Puts a checked backup in the database's place. Holds the home meanwhile, so that no daemon can start on half of it. */
export const restore: CommandHandler<{ path: string; yes?: boolean }> = async (context, input) => {
  const { homePath, output } = context
  const backupPath = resolve(input.path)
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  requireFile(context, 'To bring a file of Familiar’s own there: familiar migrate --from FILE --to postgres://…')
  const lock = await acquireDaemonLock(homePath)
  if (!lock.ok) {
    throw new CommandError(`Familiar is running on ${homePath}${lock.pid === null ? '' : ` (process ${lock.pid})`}.`, {
      code: 'locked',
      hint: `Stop it first${lock.pid === null ? '.' : `: kill ${lock.pid}`}`,
    })
  }
  try {
    if (!input.yes && !(await confirm(context, `Replace the database in ${homePath} with ${backupPath}?`))) {
      output.note('Nothing was changed.')
      return exitCodes.failed
    }
    const { keptAside } = await restoreSqlite({
      backupPath,
      databasePath: home.paths.database,
      clock: systemClock(),
      isInUse: () => false,
    })
    if (input.json) output.printJson({ restored: backupPath, kept_aside: keptAside ?? null })
    else output.print(`Restored.${keptAside ? ` The database of before is kept: ${keptAside}` : ''}`)
    return undefined
  } finally {
    await lock.release()
  }
}
