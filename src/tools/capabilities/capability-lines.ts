import { estimateTokens } from '../../base/tokens.ts'
import { type Capability, toolNameOf } from './capability.ts'
import type { CapabilityCatalog } from './catalog/catalog.ts'
import { serves } from './catalog/serves.ts'

const heading = 'Tools you have built; lookup_capability makes them callable:'
const longestLine = 90

/**
 * The most useful ones in a line each, as many as fit, and how many more there are (CAP-6). The same capabilities give the
 * same bytes. Undefined where there is none.
 */
export function capabilityLines(capabilities: readonly Capability[], budgetTokens = 160): string | undefined {
  const serving = capabilities.filter(serves).sort(byUse)
  if (serving.length === 0) return undefined
  const lines: string[] = []
  const textOf = (shown: readonly string[]) => [heading, ...shown, ...tailOf(serving.length - shown.length)].join('\n')
  for (const capability of serving) {
    const line = lineOf(capability)
    if (estimateTokens(textOf([...lines, line])) > budgetTokens) break
    lines.push(line)
  }
  return textOf(lines)
}

/**
 * The same for each user, as it goes into the prompt. What is called more often meanwhile does not change it, and neither
 * does a build: only when there is another capability, or one less, or one says otherwise of itself, is it written anew.
 */
export function createCapabilityPrompt(catalog: Pick<CapabilityCatalog, 'list' | 'onChange'>) {
  const written = new Map<string, { told: string; text: string | undefined }>()
  const changed = new Set<string>()
  const unfollow = catalog.onChange((userId) => void changed.add(userId))
  return {
    lines(userId: string): string | undefined {
      const before = written.get(userId)
      if (before && !changed.has(userId)) return before.text
      changed.delete(userId)
      const serving = catalog.list(userId).filter(serves)
      const told = serving.map(({ name, description }) => `${name} ${description}`).join('\n')
      if (before?.told === told) return before.text
      const text = capabilityLines(serving)
      written.set(userId, { told, text })
      return text
    },
    close: unfollow,
  }
}

/** What has served most often comes first, then what is new. */
function byUse(a: Capability, b: Capability): number {
  const served = b.calls - b.failures - (a.calls - a.failures)
  return served || b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1)
}

function lineOf({ name, description }: Capability): string {
  const line = `- ${toolNameOf(name)}: ${description.replaceAll(/\s+/g, ' ')}`
  return line.length > longestLine ? `${line.slice(0, longestLine - 1).toWellFormed()}…` : line
}

function tailOf(more: number): string[] {
  return more === 0 ? [] : [`- and ${more} more: lookup_capability finds them.`]
}
