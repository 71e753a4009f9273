import { z } from 'zod'
import type { Notes } from '../../memory/notes.ts'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { renderNote } from './note-text.ts'

const usualLimit = 5
const mostNotes = 20
// Many notes share about this much, each with its head; `memory_get` opens the rest of a long one.
const answerCharacters = 3_000
const headCharacters = 80

export function createRecallMemory({ notes, timeZone }: { notes: Notes; timeZone: string }): Tool {
  return defineTool({
    name: 'recall_memory',
    description: 'Search what was noted about the user. Cite as [memory:ID]. An empty query lists the newest.',
    input: z.object({ query: z.string(), limit: z.int().min(1).max(mostNotes).default(usualLimit) }),
    effect: 'idempotent',
    core: true,
    aliases: ['memory_search'],
    async run({ query, limit }, { userId }) {
      const found =
        query.trim() === ''
          ? await notes.list(userId, { limit })
          : (await notes.recall({ userId, query, limit })).map(({ note }) => note)
      if (found.length === 0) return succeeded('Nothing noted.')
      const shown = Math.floor(answerCharacters / found.length) - headCharacters
      return succeeded(found.map((note) => renderNote(note, { timeZone, limit: shown })).join('\n'))
    },
  })
}
