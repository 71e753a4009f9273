import { countWords } from '../../memory/best-passage.ts'
import { contentWords } from '../../memory/content-words.ts'
import type { Memory } from '../../memory/memory.ts'
import { matchDates } from '../../memory/recall/match-dates.ts'
import type { DateRange } from '../../memory/recall/read-dates.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import type { ShownMemory } from './memory-text.ts'
import { showMemories } from './render-memories.ts'

const mostRead = 500
const pageSize = 100
const mostByMeaning = 20

interface TimeAsked {
  userId: string
  range: DateRange
  /** Empty: whatever was said. */
  words: string
  limit: number
  signal: AbortSignal
}

/** What the user told, and what was summed up and decided, in that time: what holds most of the words first. */
export async function queryTime(needs: MemoryNeeds, asked: TimeAsked): Promise<ShownMemory[]> {
  const { userId, range, words, limit, signal } = asked
  const wanted = contentWords(words)
  const told = [...(await episodesOf(needs, asked)), ...(await toldIn(needs, asked))]
  const counted = told
    .map((memory) => ({ memory, count: countWords(memory.content, wanted) }))
    .filter(({ count }) => wanted.length === 0 || count > 0)
    .sort((a, b) => b.count - a.count || b.memory.createdAt - a.memory.createdAt)
    .map(({ memory }) => memory)
  if (wanted.length > 0) {
    const recalled = await needs.recall.recall({ userId, text: words, limit: mostByMeaning, signal })
    counted.push(...recalled.map(({ memory }) => memory).filter((memory) => matchDates(memory, range) > 0))
  }
  const unique = [...new Map(counted.map((memory) => [memory.id, memory])).values()]
  return await showMemories(needs, userId, unique.slice(0, limit))
}

async function episodesOf({ episodes, memories }: MemoryNeeds, { userId, range }: TimeAsked): Promise<Memory[]> {
  const found = await episodes.list(userId, { limit: pageSize, ...range })
  return await memories.getMany(
    userId,
    found.map(({ id }) => id),
  )
}

/** Newest first. What the assistant said and what stands in files was not told by the user. */
async function toldIn({ memories }: MemoryNeeds, { userId, range }: TimeAsked): Promise<Memory[]> {
  const found: Memory[] = []
  let before: { createdAt: number; id: string } = { createdAt: range.until + 1, id: '' }
  for (let read = 0; read < mostRead; read += pageSize) {
    const page = await memories.list(userId, { limit: pageSize, kinds: ['note', 'chunk'], before })
    const inside = page.filter((memory) => memory.createdAt >= range.from)
    found.push(
      ...inside.filter(({ kind, speaker }) => kind === 'note' || (speaker !== null && speaker !== 'assistant')),
    )
    const last = page.at(-1)
    if (!last || page.length < pageSize || inside.length < page.length) break
    before = { createdAt: last.createdAt, id: last.id }
  }
  return found
}
