import type { ToolSummaryReply } from '../../../src/protocol/tool-api.ts'

/** Those that hold every word, of that kind; the user's own first, and of those what needs a hand. */
export function findInTools(tools: readonly ToolSummaryReply[], query: string, kind: string): ToolSummaryReply[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return tools
    .filter((tool) => kind === '' || tool.kind === kind)
    .filter(({ name, description, category }) => {
      const text = `${name} ${name.replaceAll('_', ' ')} ${description} ${category ?? ''}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .toSorted((one, other) => rankOf(one) - rankOf(other) || one.name.localeCompare(other.name))
}

function rankOf({ kind, status }: ToolSummaryReply): number {
  if (status === 'error') return 0
  if (kind === 'builtin') return 4
  return status === 'available' || status === 'disabled' ? 1 : 2
}
