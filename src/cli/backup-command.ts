import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { homePaths } from '../daemon/home-paths.ts'
import { copyDatabase } from '../storage/sqlite/copy-database.ts'
import { timeForFileName } from '../storage/sqlite/sqlite-files.ts'
import type { CommandHandler } from './command.ts'
import { CommandError } from './command-error.ts'
import { requireFile } from './database-url.ts'

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
  if (input.json) output.printJson({ path: target })
  else {
    output.print(target)
    output.note(
      `Checked and complete. Files in ${paths.media} are not part of it. Back again: familiar restore ${target}`,
    )
  }
  return undefined
}
