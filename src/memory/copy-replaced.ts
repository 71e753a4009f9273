import type { Writer } from '../storage/database.ts'
import { selectMemories } from './memories.ts'
import { memoryFromRow } from './memory.ts'
import { copyMemory, type MemoryCopy } from './memory-copy.ts'

/** What a new fact has just made history, as it was before: true, and superseded by nothing. The old fact comes first. */
export async function copyReplaced(
  writer: Writer,
  { userId, by, old }: { userId: string; by: string; old: string },
): Promise<MemoryCopy[]> {
  const rows = await selectMemories(writer, userId).where('superseded_by', '=', by).execute()
  const copies: MemoryCopy[] = []
  for (const row of rows) {
    const { memory, details, edges } = await copyMemory(writer, memoryFromRow(row))
    copies.push({
      memory: { ...memory, supersededAt: null, supersededBy: null },
      details: details.map((detail) =>
        detail.table === 'facts' ? { ...detail, row: { ...detail.row, valid_to: null } } : detail,
      ),
      edges,
    })
  }
  return copies.toSorted((one, other) => Number(other.memory.id === old) - Number(one.memory.id === old))
}
