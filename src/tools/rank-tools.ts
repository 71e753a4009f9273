import { contentWords } from '../memory/content-words.ts'
import type { Tool } from './tool.ts'

const nameWeight = 3
const shortestStem = 4
/** The most that experience adds to what words and meaning say, or takes from it. */
const experienceShare = 0.25
/** What a meaning that could not be closer counts in words of the description. */
const meaningWeight = 10

/** How close in meaning tools are to a question, by name: 0 where it says nothing for them, 1 where it is the same. */
export type Closeness = ReadonlyMap<string, number>

/** Those that fit by their words or by their meaning, best first; how they have served decides between equals. */
export function rankTools(
  tools: readonly Tool[],
  query: string,
  { experience, closeness }: { experience: ReadonlyMap<string, number>; closeness: Closeness },
): Tool[] {
  // Underscores join the words of a name, and are no part of a word for whoever asks.
  const wanted = contentWords(query.replaceAll('_', ' '))
  return tools
    .map((tool) => {
      const { name } = tool.definition
      const factor = 1 + experienceShare * (experience.get(name) ?? 0)
      const meaning = meaningWeight * (closeness.get(name) ?? 0)
      return { tool, score: factor * (scoreWords(tool, wanted, query.trim()) + meaning) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool)
}

function scoreWords(tool: Tool, wanted: readonly string[], query: string): number {
  const { name, description } = tool.definition
  if ([name, ...tool.aliases].includes(query)) return Number.POSITIVE_INFINITY
  const nameWords = contentWords([name, ...tool.aliases].join(' ').replaceAll('_', ' '))
  const descriptionWords = contentWords(description)
  return wanted.reduce((sum, word) => {
    if (nameWords.some((known) => alike(known, word))) return sum + nameWeight
    return descriptionWords.some((known) => alike(known, word)) ? sum + 1 : sum
  }, 0)
}

/** "messages" finds "message": one word begins with the other. Shorter ones must be equal. */
function alike(a: string, b: string): boolean {
  if (a === b) return true
  return Math.min(a.length, b.length) >= shortestStem && (a.startsWith(b) || b.startsWith(a))
}
