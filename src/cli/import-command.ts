import type { Command } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

/** `familiar import …`: what another agent knows and can, brought into this home. */
export function addImportCommands(program: Command, define: DefineCommand): Command {
  const imports = program
    .command('import')
    .description('bring in the workspace of another agent')
    .addHelpText('after', examples)
  const add = (name: string, description: string, load: LoadHandler) => define(name, description, load, imports)

  add('openclaw', 'a workspace of OpenClaw', handlers.importOpenclaw)
    .argument('<path>', 'its folder, such as ~/.openclaw')
    .option('-y, --yes', 'do not ask')
  add('hermes', 'a home of Hermes', handlers.importHermes)
    .argument('<path>', 'its folder, such as ~/.hermes')
    .option('-y, --yes', 'do not ask')
  add('undo', 'take away what an import has written', handlers.importUndo).argument(
    '<record>',
    'the list that it left in backups/ of the home',
  )
  return imports
}

const examples = `
Examples:
  familiar import openclaw ~/.openclaw        shows what it would do, and asks
  familiar import hermes ~/.hermes --yes

Nothing that is there is overwritten, no configuration and no key is copied, and skills are off until you enable them.`
