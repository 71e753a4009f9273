import { z } from 'zod'
import { sha256 } from '../../base/hash.ts'
import { defineTool } from '../define-tool.ts'
import type { Tool, ToolContext } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { citeMemory, formatDate, tellMemories } from './memory-text.ts'
import { originOf } from './users-words.ts'

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
      const { userId, sessionId, turnId } = context
      const { content, title = '', category = '', tags = [] } = input
      // The note alone where nothing else could have been written by others.
      const written = context.seen.untrusted ? [content, title, category, ...tags].join(' ') : content
      const origin = originOf(written, context)
      const added = await memories.add({ ...input, ...origin, kind: 'note', userId, sessionId, turnId, id })
      const { memory } = added
      // A call that a crash interrupted after its commit runs again, and finds its own note: that is no repetition.
      const isOwn = added.isNew || memory.id === id
      const text = isOwn ? 'Noted' : `Known since ${formatDate(memory.createdAt, timeZone)}`
      // What is worth keeping is in sight here, whoever said it.
      return tellMemories(`${text} ${citeMemory(memory.id)}`, [memory])
    },
  })
}

/** The same call always makes the same note. Providers promise unique call ids only inside one response. */
function noteIdOf({ userId, sessionId, turnId, callId }: ToolContext): string {
  return sha256(JSON.stringify([userId, sessionId, turnId, callId])).slice(0, idLength)
}
