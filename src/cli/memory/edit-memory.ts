import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MemoryEditRequest } from '../../protocol/memory-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'
import { shortText } from './describe-memory.ts'
import { withMemory } from './with-memory.ts'

export interface EditInput {
  id: string
  content?: string
  title?: string
  category?: string
  tag?: string[]
  tier?: 'short_term' | 'long_term'
  priority?: number
  by?: string
}

/** By options or, where none are given, in the editor. */
export const editMemory: CommandHandler<EditInput> = async (context, input) => {
  const { output } = context
  const { id, by } = input
  const given = toEdit(input)
  const isEmpty = Object.keys(given).length === 0
  const edit = isEmpty && by === undefined ? await editInEditor(context, id) : given
  if (!edit) {
    output.note('Nothing was changed.')
    return undefined
  }
  const reply = await withMemory(context, async (memory) => {
    const commitment =
      by === undefined ? undefined : await memory.editCommitment(id, { deadline: by === 'none' ? null : by })
    return { commitment, edited: isEmpty && by !== undefined ? undefined : await memory.edit(id, edit) }
  })
  const { commitment, edited } = reply
  if (input.json) output.printJson({ ...edited, ...(commitment && { commitment }) })
  else {
    output.print(`Changed: ${edited ? shortText(edited.memory) : commitment?.what}`)
    if (edited) output.print(output.style('dim', `Back again: familiar memory undo ${edited.change_id}`))
  }
  return undefined
}

function toEdit(input: EditInput): MemoryEditRequest {
  return {
    ...(input.content !== undefined && { content: input.content }),
    ...(input.title !== undefined && { title: input.title || null }),
    ...(input.category !== undefined && { category: input.category || null }),
    ...(input.tag && { tags: input.tag.filter((tag) => tag !== '') }),
    ...(input.tier && { tier: input.tier }),
    ...(input.priority !== undefined && { priority: input.priority }),
  }
}

/** Undefined where the text is as it was. */
async function editInEditor(context: CommandContext, id: string): Promise<MemoryEditRequest | undefined> {
  const { env, stdin, stdout } = context
  const editor = env.VISUAL || env.EDITOR
  if (!stdin.isTTY || !stdout.isTTY || !editor) {
    throw usageError(
      editor ? 'There is nothing to change it to.' : 'There is nothing to change it to, and no $EDITOR to open.',
      'Say it with --content, --title, --category, --tag, --tier, --priority or --by.',
    )
  }
  const { memory } = await withMemory(context, (client) => client.get(id))
  const directory = await mkdtemp(join(tmpdir(), 'familiar-edit-'))
  try {
    const path = join(directory, 'memory.md')
    await writeFile(path, `${memory.content}\n`, { mode: 0o600 })
    await open(editor, path)
    const content = (await readFile(path, 'utf8')).trim()
    if (content === '') throw usageError('The text is empty.', `To forget it: familiar memory forget ${id}`)
    return content === memory.content.trim() ? undefined : { content }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Through the shell, as everywhere: an editor may come with options. */
async function open(editor: string, path: string): Promise<void> {
  const child = spawn(`${editor} "${path}"`, { shell: true, stdio: 'inherit' })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new CommandError(`The editor (${editor}) ended with ${code}: nothing was changed.`)
}
