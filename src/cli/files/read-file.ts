import type { CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { type FileClient, withFiles } from './file-client.ts'

export interface ReadInput {
  path: string
  offset?: number
  limit?: number
}

/** All of it, page by page, unless some lines are asked for. */
export const readFile: CommandHandler<ReadInput> = async (context, input) => {
  const { output } = context
  const { path, offset, limit } = input
  const read = await withFiles(context, async (files) => {
    const first = await files.read({ path, offset, limit })
    return limit === undefined ? readOn(files, first) : first
  })
  if (input.json) output.printJson(read)
  else {
    output.print(read.text.replace(/\n$/, ''))
    if (read.note !== null) output.note(read.note)
  }
  return undefined
}

type Page = Awaited<ReturnType<FileClient['read']>>

async function readOn(files: FileClient, first: Page): Promise<Page> {
  const texts = [first.text]
  const notes = [first.note]
  let page = first
  while (page.last_line < page.lines) {
    page = await files.read({ path: first.path, offset: page.last_line + 1 })
    if (page.etag !== first.etag) throw new CommandError(`${first.path} was changed while it was read. Try again.`)
    texts.push(page.text)
    notes.push(page.note)
  }
  // Of the pages in between only what was cut out of a line is worth telling.
  const cut = notes.find((note) => note?.startsWith('[line '))
  return { ...first, text: texts.join(''), last_line: page.last_line, note: cut ?? null }
}
