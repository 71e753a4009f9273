import { handlers } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

/** `familiar update`: the one command that fetches a program, because the user asked. */
export function addUpdateCommand(define: DefineCommand): void {
  define('update', 'install another version, and go back where it is not healthy', handlers.update)
    .option('--check', 'only say whether there is one')
    .option('--to <version>', 'this version, or the tarball at this path')
    .addHelpText('after', explanation)
}

const explanation = `
The new version is installed beside the old one and tried on a copy of the home first. Then the daemon is stopped, the
database copied into backups/, and the program changed. Where the new version does not answer, both are put back.`
