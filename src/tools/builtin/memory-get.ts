import { z } from 'zod'
import type { Notes } from '../../memory/notes.ts'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { renderNote } from './note-text.ts'

const pageCharacters = 2_500

export function createMemoryGet({ notes, timeZone }: { notes: Notes; timeZone: string }): Tool {
  return defineTool({
    name: 'memory_get',
    description: 'Read one memory in full by its id. A long one comes in pages: pass the offset it names.',
    input: z.object({ id: z.string().min(1), offset: z.int().min(0).default(0) }),
    effect: 'idempotent',
    async run({ id, offset }, { userId }) {
      const note = await notes.get(userId, bareId(id))
      if (!note) return failed(`There is no memory with the id ${id.slice(0, 80).toWellFormed()}.`)
      const end = offset + pageCharacters
      const page = { ...note, content: note.content.slice(offset, end).toWellFormed() }
      const text = renderNote(page, { timeZone, limit: pageCharacters })
      if (end >= note.content.length) return succeeded(text)
      return succeeded(`${text}\n[${note.content.length - end} more characters: offset ${end}]`)
    },
  })
}

/** Models copy the citation as often as the id. */
function bareId(id: string): string {
  const trimmed = id.trim()
  const cited = trimmed.startsWith('[') && trimmed.endsWith(']') ? trimmed.slice(1, -1) : trimmed
  return cited.startsWith('memory:') ? cited.slice('memory:'.length) : cited
}
