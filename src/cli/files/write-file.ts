import type { CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import { readInput } from '../memory/read-input.ts'
import { withFiles } from './file-client.ts'
import { tellWritten } from './tell-written.ts'

export interface WriteInput {
  path: string
  content?: string
  etag?: string
}

/** The content by `--content`, or on standard input. */
export const writeFile: CommandHandler<WriteInput> = async (context, input) => {
  const { path, etag } = input
  if (input.content === undefined && context.stdin.isTTY) {
    throw usageError('There is nothing to write.', 'Say it with --content TEXT, or pipe it in: --content -')
  }
  const isPiped = input.content === undefined || input.content === '-'
  const content = isPiped ? (await readInput(context)).toString('utf8') : (input.content ?? '')
  const written = await withFiles(context, (files) => files.write({ path, content, etag }))
  tellWritten(context.output, written, input.json)
  return undefined
}
