import type { CommandHandler } from '../command.ts'
import { withFiles } from './file-client.ts'
import { tellWritten } from './tell-written.ts'

export interface UndoInput {
  path: string
  to?: number
}

/** An undo is a change like any other: undone by another one. Further back goes `--to`. */
export const undoFile: CommandHandler<UndoInput> = async (context, input) => {
  const undone = await withFiles(context, (files) => files.undo({ path: input.path, version: input.to }))
  tellWritten(context.output, undone, input.json)
  return undefined
}
