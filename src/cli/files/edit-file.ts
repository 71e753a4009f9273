import type { CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import { withFiles } from './file-client.ts'
import { tellWritten } from './tell-written.ts'

export interface EditInput {
  path: string
  old?: string
  new?: string
  all?: boolean
  etag?: string
}

export const editFile: CommandHandler<EditInput> = async (context, input) => {
  const { path, old, new: replacement, all, etag } = input
  if (old === undefined || replacement === undefined) {
    throw usageError('What is replaced, and by what?', 'Say it with --old TEXT --new TEXT.')
  }
  const edited = await withFiles(context, (files) => files.edit({ path, old, new: replacement, all, etag }))
  tellWritten(context.output, edited, input.json)
  return undefined
}
