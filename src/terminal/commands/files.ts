import { formatBytes, formatCount, formatTime } from '../../base/text.ts'
import { type AssetReadReply, type AssetWrittenReply, localFiles } from '../../protocol/files.ts'
import { CommandError, type CommandHandler, usageError } from '../command.ts'
import { type Api, withApi } from '../connect.ts'
import type { Output } from '../output.ts'
import { readStandardInput } from './memory.ts'

interface WriteInput {
  path: string
  content?: string
  etag?: string
}

/** The content by `--content`, or on standard input. */
export const writeFile: CommandHandler<WriteInput> = async (context, input) => {
  const { path, etag } = input
  if (input.content === undefined && context.stdin.isTTY) {
    throw usageError('No content given.', 'Use --content TEXT, or --content - to read standard input.')
  }
  const isPiped = input.content === undefined || input.content === '-'
  const content = isPiped ? (await readStandardInput(context)).toString('utf8') : (input.content ?? '')
  const written = await withApi(context, localFiles, (files) => files.write({ path, content, etag }))
  tellWritten(context.output, written, input.json)
  return undefined
}

type FileApi = Api<typeof localFiles>

function tellWritten(output: Output, written: AssetWrittenReply, json: boolean | undefined): void {
  if (json) output.printJson(written)
  else {
    output.print(describe(written))
    if (!written.is_changed) return
    const undo = `familiar files undo ${JSON.stringify(written.path)}`
    output.print(output.style('dim', `Version ${written.version}. To undo: ${undo}`))
  }
}

function describe({ path, is_new, is_changed, count, restored, etag }: AssetWrittenReply): string {
  if (!is_changed) return `${path} is as it was.`
  if (etag === null) return `${path} is gone, as it was in version ${restored}.`
  if (restored !== undefined) return `${path} is as it was in version ${restored}.`
  if (is_new) return `Wrote ${path} (new).`
  return count === undefined ? `Wrote ${path}.` : `Edited ${path} in ${places(count)}.`
}

function places(count: number): string {
  return count === 1 ? 'one place' : `${count} places`
}

interface EditInput {
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
  const edited = await withApi(context, localFiles, (files) => files.edit({ path, old, new: replacement, all, etag }))
  tellWritten(context.output, edited, input.json)
  return undefined
}

interface ListInput {
  path?: string
}

export const listFiles: CommandHandler<ListInput> = async (context, input) => {
  const { output } = context
  const reply = await withApi(context, localFiles, (files) => files.list({ path: input.path }))
  if (input.json) output.printJson(reply)
  else if (reply.entries.length === 0) output.print('No files.')
  else {
    output.printTable(
      reply.entries.map(({ path, bytes, modified_at }) => [formatTime(modified_at), formatBytes(bytes), path]),
      { header: ['Changed', 'Size', 'Path'] },
    )
    if (reply.is_cut) output.note('The list is cut. Name a folder to see more.')
  }
  return undefined
}

interface ReadInput {
  path: string
  offset?: number
  limit?: number
}

/** All of it, page by page, unless some lines are asked for. */
export const readFile: CommandHandler<ReadInput> = async (context, input) => {
  const { output } = context
  const { path, offset, limit } = input
  const read = await withApi(context, localFiles, async (files) => {
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

async function readOn(files: FileApi, first: AssetReadReply): Promise<AssetReadReply> {
  const texts = [first.text]
  const notes = [first.note]
  let page = first
  while (page.last_line < page.lines) {
    page = await files.read({ path: first.path, offset: page.last_line + 1 })
    if (page.etag !== first.etag) throw new CommandError(`${first.path} changed while it was read. Try again.`)
    texts.push(page.text)
    notes.push(page.note)
  }
  // Of the pages in between only what was cut out of a line is worth telling.
  const cut = notes.find((note) => note?.startsWith('[line '))
  return { ...first, text: texts.join(''), last_line: page.last_line, note: cut ?? null }
}

export const showHistory: CommandHandler<{ path: string }> = async (context, input) => {
  const { output } = context
  const reply = await withApi(context, localFiles, (files) => files.history({ path: input.path }))
  if (input.json) output.printJson(reply)
  else if (reply.versions.length === 0) output.print(`${reply.path} has no earlier versions.`)
  else {
    output.printTable(
      reply.versions.map(({ version, at, author, trust, tokens, was_there }) => [
        String(version),
        formatTime(at),
        author,
        trust,
        was_there ? `${formatCount(tokens)} tokens` : 'did not exist',
      ]),
      { header: ['Version', 'Time', 'By', 'Trust', 'Size'] },
    )
  }
  return undefined
}

interface UndoInput {
  path: string
  to?: number
}

/** An undo is a change like any other: undone by another one. Further back goes `--to`. */
export const undoFile: CommandHandler<UndoInput> = async (context, input) => {
  const undone = await withApi(context, localFiles, (files) => files.undo({ path: input.path, version: input.to }))
  tellWritten(context.output, undone, input.json)
  return undefined
}
