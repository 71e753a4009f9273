import { type Command, InvalidArgumentError } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const path = 'a path in the workspace, a whole one, or familiar:///blocks/NAME'

/** `familiar file …`: files and blocks, as the agent's own tools have them. */
export function addFileCommands(program: Command, define: DefineCommand): Command {
  const file = program.command('file').description('files and blocks').addHelpText('after', examples)
  const add = (name: string, description: string, load: LoadHandler) => define(name, description, load, file)

  add('read', 'print a file or block, or some lines of it', handlers.fileRead)
    .argument('<path>', path)
    .option('--offset <line>', 'the first line', toLine)
    .option('--limit <lines>', 'how many lines', toLine)
  add('write', 'write a file or block', handlers.fileWrite)
    .argument('<path>', path)
    .option('--content <text>', 'what it says from now on; - reads standard input')
    .option('--etag <etag>', 'only where it is still what that is of')
  add('edit', 'replace a passage that occurs once', handlers.fileEdit)
    .argument('<path>', path)
    .option('--old <text>', 'what is replaced')
    .option('--new <text>', 'by what')
    .option('--all', 'everywhere that it occurs')
    .option('--etag <etag>', 'only where it is still what that is of')
  add('list', 'list what lies under a folder', handlers.fileList).argument(
    '[path]',
    'a folder (default: the workspace)',
  )
  add('history', 'the versions of a file or block, newest first', handlers.fileHistory).argument('<path>', path)
  add('undo', 'put back the version before, or a certain one', handlers.fileUndo)
    .argument('<path>', path)
    .option('--to <version>', 'the version', toVersion)
  return file
}

function toLine(text: string): number {
  const line = Number(text)
  if (/^\d{1,9}$/.test(text) && line >= 1) return line
  throw new InvalidArgumentError('It is a whole number from 1 on.')
}

function toVersion(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is the number of a version.')
}

const examples = `
Examples:
  familiar file read notes/trip.md
  familiar file write familiar:///blocks/prefs.md --content "Short answers."
  familiar file edit notes/trip.md --old Tuesday --new Wednesday
  familiar file list familiar://
  familiar file undo notes/trip.md`
