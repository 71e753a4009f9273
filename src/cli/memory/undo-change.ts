import { formatTime } from '../../base/format.ts'
import type { ChangeReply } from '../../protocol/memory-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'
import { shortText } from './describe-memory.ts'
import { withMemory } from './with-memory.ts'

export const undoChange: CommandHandler<{ change?: string; list?: boolean }> = async (context, input) => {
  const { output } = context
  if (input.list) {
    if (input.change) throw usageError('--list takes no change.')
    return listChanges(context, input.json)
  }
  // Chosen once: asked again after a broken line, it must not undo the one before it too.
  let chosen = input.change
  const { change } = await withMemory(context, async (memory) => {
    chosen ??= (await memory.changes(1)).changes[0]?.id
    if (chosen === undefined) throw new CommandError('There is nothing that can be undone.', { code: 'not_found' })
    return memory.undo(chosen)
  })
  if (input.json) output.printJson({ change })
  else output.print(`${change.action === 'forgotten' ? 'Known again' : 'As it was'}: ${shortText(change.before)}`)
  return undefined
}

async function listChanges(context: CommandContext, json: boolean | undefined): Promise<undefined> {
  const { output } = context
  const reply = await withMemory(context, (memory) => memory.changes(500))
  if (json) output.printJson(reply)
  else if (reply.changes.length === 0) output.print('There is nothing that can be undone.')
  else output.printTable(reply.changes.map(describeChange), { header: ['When', 'What', 'By', 'Change', 'Before'] })
  return undefined
}

function describeChange({ at, action, made_by, id, before }: ChangeReply): string[] {
  return [formatTime(at), action, made_by === 'user' ? 'you' : 'Familiar', id, shortText(before)]
}
