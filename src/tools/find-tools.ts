import { z } from 'zod'
import { contentWords } from '../memory/content-words.ts'
import { topicsOf } from '../memory/topics-of.ts'
import { defineTool, failed, succeeded } from './define-tool.ts'
import type { ToolRegistry } from './registry.ts'
import type { Tool } from './tool.ts'

const mostFound = 5
const mostNamed = 20
const nameWeight = 3
const shortestStem = 4

/** How well a tool has served, -1 to 1, by its name: less than a word that fits, more than the order of names. */
export type ToolWeights = (userId: string, topics: readonly string[]) => Promise<ReadonlyMap<string, number>>

/** The most that experience adds to what the words say, or takes from it. */
const experienceShare = 0.25

/** The way to every tool that is not core: one JSON line for each that fits, then callable by its own name. */
export function createFindTools(needs: { registry: ToolRegistry; weights?: ToolWeights }): Tool {
  const { registry, weights = async () => new Map() } = needs
  return defineTool({
    name: 'find_tools',
    description: 'Find more tools by what they do. Call what it returns by its name.',
    input: z.object({ query: z.string().min(1) }),
    effect: 'idempotent',
    core: true,
    async run({ query }, { userId, userText }) {
      const others = registry.list().filter((tool) => !tool.core)
      if (others.length === 0) return failed('There are no further tools.')
      const topics = [...new Set([...topicsOf(query), ...topicsOf(userText)])]
      const found = rankTools(others, query, await weights(userId, topics)).slice(0, mostFound)
      if (found.length > 0) {
        const foundTools = found.map((tool) => tool.definition.name)
        return { ...succeeded(found.map(describeTool).join('\n')), foundTools }
      }
      const names = others.slice(0, mostNamed).map((tool) => tool.definition.name)
      const rest = others.length > names.length ? ` and ${others.length - names.length} more` : ''
      return failed(`No tool fits these words. There are: ${names.join(', ')}${rest}.`)
    },
  })
}

function rankTools(tools: readonly Tool[], query: string, experience: ReadonlyMap<string, number>): Tool[] {
  // Underscores join the words of a name, and are no part of a word for whoever asks.
  const wanted = contentWords(query.replaceAll('_', ' '))
  return tools
    .map((tool) => {
      const factor = 1 + experienceShare * (experience.get(tool.definition.name) ?? 0)
      return { tool, score: factor * scoreTool(tool, wanted, query.trim()) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool)
}

function scoreTool(tool: Tool, wanted: readonly string[], query: string): number {
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

function describeTool({ definition }: Tool): string {
  return JSON.stringify({
    name: definition.name,
    description: definition.description,
    input: definition.inputSchema,
  })
}
