import { z } from 'zod'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { noSuchMemory, readMemoryId, renderMemory, tellMemories } from './memory-text.ts'
import { showMemories } from './render-memories.ts'

const pageCharacters = 2_500

export function createMemoryGet(needs: Pick<MemoryNeeds, 'memories' | 'files' | 'timeZone'>): Tool {
  const { memories, timeZone } = needs
  return defineTool({
    name: 'memory_get',
    description: 'Read one memory in full by its id. A long one comes in pages: pass the offset it names.',
    input: z.object({ id: z.string().min(1), offset: z.int().min(0).default(0) }),
    effect: 'idempotent',
    async run({ id, offset }, { userId }) {
      const memory = await memories.get(userId, readMemoryId(id))
      if (!memory) return failed(noSuchMemory(id))
      await memories.used(userId, [memory.id])
      const [shown] = await showMemories(needs, userId, [memory])
      const end = offset + pageCharacters
      const page = memory.content.slice(offset, end).toWellFormed()
      const text = shown ? renderMemory({ ...shown, text: page }, timeZone) : ''
      if (end >= memory.content.length) return tellMemories(text, [memory])
      return tellMemories(`${text}\n[${memory.content.length - end} more characters: offset ${end}]`, [memory])
    },
  })
}
