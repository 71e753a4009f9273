import { z } from 'zod'
import { topicsOf } from '../memory/words.ts'
import { type RankedCapability, rankTools, type ToolMeaning, type ToolRegistry } from '../tools/registry.ts'
import { defineTool, failed, succeeded, type Tool } from '../tools/tool.ts'
import { toolNameOf } from './built-catalog.ts'
import type { CapabilitySearch } from './search.ts'

const maxFound = 5
const maxNamed = 20
/** Of the capabilities: more than are shown, so that how they have served can change their order. */
const maxCapabilities = 20

/** How well a tool has served, -1 to 1, by its name: less than a word that fits, more than the order of names. */
export type ToolWeights = (userId: string, topics: readonly string[]) => Promise<ReadonlyMap<string, number>>

/** The way to every tool that is not core: one JSON line for each that fits, then callable by its own name. */
export function createFindTools(needs: {
  registry: ToolRegistry
  weights?: ToolWeights | undefined
  meaning?: ToolMeaning | undefined
  /** Tools that are on a shelf and not in the registry. */
  capabilities?: Pick<CapabilitySearch, 'search'> | undefined
}): Tool {
  const { registry, weights = async () => new Map(), meaning = async () => new Map(), capabilities } = needs

  async function findCapabilities(userId: string, text: string, signal: AbortSignal): Promise<RankedCapability[]> {
    const found = await capabilities?.search({ userId, text, limit: maxCapabilities, signal })
    const view = registry.viewOf(userId)
    return (found ?? []).flatMap(({ capability, ...ranked }) => {
      const tool = view.find(toolNameOf(capability.name))
      return tool ? [{ tool, ...ranked }] : []
    })
  }

  return defineTool({
    name: 'find_tools',
    description: 'Find more tools by what they do. Call what it returns by its name.',
    input: z.object({ query: z.string().min(1) }),
    effect: 'idempotent',
    core: true,
    async run({ query }, { userId, userText, signal }) {
      const others = registry
        .viewOf(userId)
        .list()
        .filter((tool) => !tool.core)
      const topics = [...new Set([...topicsOf(query), ...topicsOf(userText)])]
      const [experience, built] = await Promise.all([weights(userId, topics), findCapabilities(userId, query, signal)])
      if (others.length === 0 && built.length === 0) return failed('There are no further tools.')
      // After the capabilities, not beside them: the question is embedded once and remembered.
      const closeness = await meaning(others, query, signal)
      const found = rankTools(others, query, { experience, closeness, capabilities: built }).slice(0, maxFound)
      if (found.length > 0) {
        const foundTools = found.map((tool) => tool.definition.name)
        return { ...succeeded(found.map(describeTool).join('\n')), foundTools }
      }
      const names = others.slice(0, maxNamed).map((tool) => tool.definition.name)
      const rest = others.length > names.length ? ` and ${others.length - names.length} more` : ''
      return failed(`No tool fits these words. There are: ${names.join(', ')}${rest}.`)
    },
  })
}

function describeTool({ definition }: Tool): string {
  return JSON.stringify({
    name: definition.name,
    description: definition.description,
    input: definition.inputSchema,
  })
}
