import { z } from 'zod'
import { sha256 } from '../../base/hash.ts'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool, ToolContext } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { citeMemory, formatDate } from './memory-text.ts'
import { whoseWords } from './users-words.ts'

const idLength = 16

export function createStoreMemory({ memories, timeZone }: Pick<MemoryNeeds, 'memories' | 'timeZone'>): Tool {
  return defineTool({
    name: 'store_memory',
    description: 'Keep a lasting fact, wish or instruction of the user, in their words. Not what matters only now.',
    input: z.object({
      content: z.string().min(1),
      title: z.string().optional(),
      category: z.string().optional(),
      tags: z.array(z.string()).optional(),
      tier: z.enum(['short_term', 'long_term']).optional(),
    }),
    effect: 'idempotent',
    core: true,
    aliases: ['save_memory'],
    async run(input, context) {
      const id = noteIdOf(context)
      const { userId, sessionId, turnId, userText } = context
      const source = whoseWords(input.content, userText)
      const added = await memories.add({ ...input, kind: 'note', userId, sessionId, turnId, source, id })
      const { memory } = added
      // A call that a crash interrupted after its commit runs again, and finds its own note: that is no repetition.
      if (added.isNew || memory.id === id) return succeeded(`Noted ${citeMemory(memory.id)}`)
      return succeeded(`Known since ${formatDate(memory.createdAt, timeZone)} ${citeMemory(memory.id)}`)
    },
  })
}

/** The same call always makes the same note. Providers promise unique call ids only inside one response. */
function noteIdOf({ userId, sessionId, turnId, callId }: ToolContext): string {
  return sha256(JSON.stringify([userId, sessionId, turnId, callId])).slice(0, idLength)
}
