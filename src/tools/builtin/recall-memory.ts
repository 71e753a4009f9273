import { z } from 'zod'
import type { Memory } from '../../memory/memory.ts'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { tellMemories } from './memory-text.ts'
import { renderMemories, showMemories } from './render-memories.ts'

const usualLimit = 5
const mostMemories = 20

export function createRecallMemory(needs: Pick<MemoryNeeds, 'memories' | 'recall' | 'files' | 'timeZone'>): Tool {
  const { memories, recall, timeZone } = needs

  /** What was noted on purpose; where there is none, whatever there is. */
  async function listNewest(userId: string, limit: number): Promise<Memory[]> {
    const notes = await memories.list(userId, { limit, kinds: ['note'] })
    return notes.length > 0 ? notes : await memories.list(userId, { limit })
  }

  return defineTool({
    name: 'recall_memory',
    description: 'Search what was noted about the user. Cite as [memory:ID]. An empty query lists the newest.',
    input: z.object({ query: z.string(), limit: z.int().min(1).max(mostMemories).default(usualLimit) }),
    effect: 'idempotent',
    core: true,
    aliases: ['memory_search'],
    async run({ query, limit }, { userId, signal }) {
      const isList = query.trim() === ''
      const found = isList
        ? await listNewest(userId, limit)
        : (await recall.recall({ userId, text: query, limit, signal })).map(({ memory }) => memory)
      if (found.length === 0) return succeeded('Nothing noted.')
      if (!isList) {
        await memories.used(
          userId,
          found.map(({ id }) => id),
        )
      }
      const shown = await showMemories(needs, userId, found)
      return tellMemories(renderMemories(shown, query, timeZone), shown)
    },
  })
}
