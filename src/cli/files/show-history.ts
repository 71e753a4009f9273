import { formatCount, formatTime } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { withFiles } from './file-client.ts'

export const showHistory: CommandHandler<{ path: string }> = async (context, input) => {
  const { output } = context
  const reply = await withFiles(context, (files) => files.history(input.path))
  if (input.json) output.printJson(reply)
  else if (reply.versions.length === 0) output.print(`${reply.path} was never changed here.`)
  else {
    output.printTable(
      reply.versions.map(({ version, at, author, trust, tokens, was_there }) => [
        String(version),
        formatTime(at),
        author,
        trust,
        was_there ? `${formatCount(tokens)} tokens` : 'was not there',
      ]),
      { header: ['Version', 'Time', 'By', 'Words of', 'Size'] },
    )
  }
  return undefined
}
