import { formatBytes, formatCount, formatTime } from '../../base/text.ts'
import { localFiles } from '../../protocol/files.ts'
import { CommandError, type CommandHandler, textOrInput, usageError } from '../command.ts'
import { type Answer, type Api, apiCommand, withApi } from '../connect.ts'
import type { Output } from '../output.ts'

/** The content comes from `--content` or from standard input. */
export const writeFile: CommandHandler<{ path: string; content?: string; etag?: string }> = async (context, input) => {
  const { path, etag } = input
  if (input.content === undefined && context.stdin.isTTY) {
    throw usageError('No content given.', 'Use --content TEXT, or --content - to read standard input.')
  }
  const content = await textOrInput(context, input.content ?? '-')
  const written = await withApi(context, localFiles, (files) => files.write({ path, content, etag }))
  return context.output.report(input.json, written, () => printWritten(written, context.output))
}

function printWritten(written: Answer<typeof localFiles.write>, output: Output): undefined {
  output.print(describe(written))
  if (!written.is_changed) return
  const undo = output.commandLine(`files undo ${JSON.stringify(written.path)}`)
  output.print(output.style('dim', `Version ${written.version}. To undo: ${undo}`))
}

function describe({ path, is_new, is_changed, count, restored, etag }: Answer<typeof localFiles.write>): string {
  if (!is_changed) return `${path} is as it was.`
  if (etag === null) return `${path} is gone, as it was in version ${restored}.`
  if (restored !== undefined) return `${path} is as it was in version ${restored}.`
  if (is_new) return `Wrote ${path} (new).`
  if (count === undefined) return `Wrote ${path}.`
  return `Edited ${path} in ${count === 1 ? 'one place' : `${count} places`}.`
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
  return context.output.report(input.json, edited, () => printWritten(edited, context.output))
}

export const listFiles = apiCommand(
  localFiles,
  (files, { path }: { path?: string }) => files.list({ path }),
  ({ entries, is_cut }) => ({
    empty: 'No files.',
    header: ['Changed', 'Size', 'Path'],
    rows: entries.map(({ path, bytes, modified_at }) => [formatTime(modified_at), formatBytes(bytes), path]),
    note: is_cut ? 'The list is cut. Name a folder to see more.' : undefined,
  }),
)

/** All of it, page by page, unless a number of lines is given. */
export const readFile = apiCommand(
  localFiles,
  async (files, { path, offset, limit }: { path: string; offset?: number; limit?: number }) => {
    const first = await files.read({ path, offset, limit })
    return limit === undefined ? readOn(files, first) : first
  },
  ({ text, note }, output) => {
    output.print(text.replace(/\n$/, ''))
    if (note !== null) output.note(note)
  },
)

async function readOn(
  files: Api<typeof localFiles>,
  first: Answer<typeof localFiles.read>,
): Promise<Answer<typeof localFiles.read>> {
  const texts = [first.text]
  const notes = [first.note]
  let page = first
  while (page.last_line < page.lines) {
    page = await files.read({ path: first.path, offset: page.last_line + 1 })
    if (page.etag !== first.etag) throw new CommandError(`${first.path} changed while it was read. Try again.`)
    texts.push(page.text)
    notes.push(page.note)
  }
  // The other notes are about pages, and this is the whole file.
  const cut = notes.find((note) => note?.startsWith('[line '))
  return { ...first, text: texts.join(''), last_line: page.last_line, note: cut ?? null }
}

export const showHistory = apiCommand(
  localFiles,
  (files, { path }: { path: string }) => files.history({ path }),
  (reply) => ({
    empty: `${reply.path} has no earlier versions.`,
    header: ['Version', 'Time', 'By', 'Trust', 'Size'],
    rows: reply.versions.map(({ version, at, author, trust, tokens, was_there }) => [
      String(version),
      formatTime(at),
      author,
      trust,
      was_there ? `${formatCount(tokens)} tokens` : 'did not exist',
    ]),
  }),
)

/** An undo is a change like any other: another undo reverts it. `--to` goes further back. */
export const undoFile = apiCommand(
  localFiles,
  (files, { path, to }: { path: string; to?: number }) => files.undo({ path, version: to }),
  printWritten,
)
