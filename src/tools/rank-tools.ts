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

/** A capability that a search has found among all that there are. */
export interface RankedCapability {
  tool: Tool
  /** Of the search, 0 to 1. */
  score: number
  closeness: number
}

/**
 * Those that fit by their words or by their meaning, best first; how they have served decides between equals. Capabilities
 * are put between the tools by the same measure, and among themselves stay in the order of their search, which knows how
 * rare a word is among ten thousand of them.
 */
export function rankTools(
  tools: readonly Tool[],
  query: string,
  given: {
    experience: ReadonlyMap<string, number>
    closeness: Closeness
    capabilities?: readonly RankedCapability[]
  },
): Tool[] {
  const { experience, closeness, capabilities = [] } = given
  // Underscores join the words of a name, and are no part of a word for whoever asks.
  const wanted = contentWords(query.replaceAll('_', ' '))
  const factor = ({ definition }: Tool) => 1 + experienceShare * (experience.get(definition.name) ?? 0)
  const rank = (tool: Tool, close: number) => ({
    tool,
    score: factor(tool) * (scoreWords(tool, wanted, query.trim()) + meaningWeight * close),
  })
  const place = ({ tool, score }: RankedCapability) =>
    isNamed(tool, query.trim()) ? Number.POSITIVE_INFINITY : factor(tool) * score
  const found = capabilities.toSorted((a, b) => place(b) - place(a) || 0)
  const scores = found.map(({ tool, closeness: close }) => rank(tool, close).score).sort((a, b) => b - a)
  return [
    ...tools.map((tool) => rank(tool, closeness.get(tool.definition.name) ?? 0)),
    ...found.map(({ tool }, at) => ({ tool, score: scores[at] ?? 0 })),
  ]
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool)
}

function scoreWords(tool: Tool, wanted: readonly string[], query: string): number {
  const { name, description } = tool.definition
  if (isNamed(tool, query)) return Number.POSITIVE_INFINITY
  const nameWords = contentWords([name, ...tool.aliases].join(' ').replaceAll('_', ' '))
  const descriptionWords = contentWords(description)
  return wanted.reduce((sum, word) => {
    if (nameWords.some((known) => alike(known, word))) return sum + nameWeight
    return descriptionWords.some((known) => alike(known, word)) ? sum + 1 : sum
  }, 0)
}

function isNamed({ definition, aliases }: Tool, query: string): boolean {
  return [definition.name, ...aliases].includes(query)
}

/** "messages" finds "message": one word begins with the other. Shorter ones must be equal. */
function alike(a: string, b: string): boolean {
  if (a === b) return true
  return Math.min(a.length, b.length) >= shortestStem && (a.startsWith(b) || b.startsWith(a))
}
