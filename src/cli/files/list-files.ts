import { formatBytes, formatTime } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { withFiles } from './file-client.ts'

export interface ListInput {
  path?: string
}

export const listFiles: CommandHandler<ListInput> = async (context, input) => {
  const { output } = context
  const reply = await withFiles(context, (files) => files.list(input.path ?? ''))
  if (input.json) output.printJson(reply)
  else if (reply.entries.length === 0) output.print('There is nothing there.')
  else {
    output.printTable(
      reply.entries.map(({ path, bytes, modified_at }) => [formatTime(modified_at), formatBytes(bytes), path]),
      { header: ['Changed', 'Size', 'Path'] },
    )
    if (reply.is_cut) output.note('There is more than that. Name a folder.')
  }
  return undefined
}
