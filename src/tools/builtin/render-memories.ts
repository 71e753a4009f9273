import { bestPassage } from '../../memory/best-passage.ts'
import type { Memory } from '../../memory/memory.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { renderMemory, type ShownMemory, showMemory } from './memory-text.ts'

// All share about this much, each with its head; `memory_get` opens the rest of a long one.
const answerCharacters = 3_000
const headCharacters = 80
const leastCharacters = 100

export async function showMemories(
  { files }: Pick<MemoryNeeds, 'files'>,
  userId: string,
  memories: readonly Memory[],
): Promise<ShownMemory[]> {
  const passages = memories.filter(({ kind }) => kind === 'chunk').map(({ id }) => id)
  const places = await files.fileOf(userId, passages)
  return memories.map((memory) => showMemory(memory, places.get(memory.id)))
}

/** One below the other; of a long one the passage that says most about what was asked. */
export function renderMemories(shown: readonly ShownMemory[], about: string, timeZone: string): string {
  const room = Math.max(leastCharacters, Math.floor(answerCharacters / Math.max(1, shown.length)) - headCharacters)
  return shown
    .map((memory) => renderMemory({ ...memory, text: bestPassage(memory.text, about, room) }, timeZone))
    .join('\n')
}
