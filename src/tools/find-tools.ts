import { z } from 'zod'
import { contentWords } from '../memory/content-words.ts'
import { defineTool, failed, succeeded } from './define-tool.ts'
import type { ToolRegistry } from './registry.ts'
import type { Tool } from './tool.ts'

const mostFound = 5
const mostNamed = 20
const nameWeight = 3
const shortestStem = 4

/** The way to every tool that is not core: one JSON line for each that fits, then callable by its own name. */
export function createFindTools({ registry }: { registry: ToolRegistry }): Tool {
  return defineTool({
    name: 'find_tools',
    description: 'Find more tools by what they do. Call what it returns by its name.',
    input: z.object({ query: z.string().min(1) }),
    effect: 'idempotent',
    core: true,
    async run({ query }) {
      const others = registry.list().filter((tool) => !tool.core)
      if (others.length === 0) return failed('There are no further tools.')
      const found = rankTools(others, query).slice(0, mostFound)
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

function rankTools(tools: readonly Tool[], query: string): Tool[] {
  // Underscores join the words of a name, and are no part of a word for whoever asks.
  const wanted = contentWords(query.replaceAll('_', ' '))
  return tools
    .map((tool) => ({ tool, score: scoreTool(tool, wanted, query.trim()) }))
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
