import { z } from 'zod'
import { sha256 } from '../../base/hash.ts'
import type { Notes } from '../../memory/notes.ts'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool, ToolContext } from '../tool.ts'
import { citeNote, formatDate } from './note-text.ts'

const idLength = 16

export function createStoreMemory({ notes, timeZone }: { notes: Notes; timeZone: string }): Tool {
  return defineTool({
    name: 'store_memory',
    description: 'Keep a lasting fact, wish or instruction of the user, in their words. Not what matters only now.',
    input: z.object({ content: z.string().min(1), tags: z.array(z.string()).optional() }),
    effect: 'idempotent',
    core: true,
    async run({ content, tags }, context) {
      const id = noteIdOf(context)
      const { userId, sessionId, turnId } = context
      const added = await notes.add({ userId, sessionId, turnId, content, tags: tags ?? [], source: 'agent', id })
      const { note } = added
      // A call that a crash interrupted after its commit runs again, and finds its own note: that is no repetition.
      if (added.isNew || note.id === id) return succeeded(`Noted ${citeNote(note.id)}`)
      return succeeded(`Known since ${formatDate(note.createdAt, timeZone)} ${citeNote(note.id)}`)
    },
  })
}

/** The same call always makes the same note. Providers promise unique call ids only inside one response. */
function noteIdOf({ userId, sessionId, turnId, callId }: ToolContext): string {
  return sha256(JSON.stringify([userId, sessionId, turnId, callId])).slice(0, idLength)
}
