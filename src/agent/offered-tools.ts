import type { ToolDefinition } from '../protocol/tool.ts'
import type { ToolView } from '../tools/registry.ts'

/**
 * The tools whose schema a request carries: the core ones by name, then those found in the session in the order of
 * finding, so that finding one only ever adds at the end.
 */
export function offeredTools(registry: ToolView, found: readonly string[]): ToolDefinition[] {
  const core = registry.list().filter((tool) => tool.core)
  const more = found.flatMap((name) => {
    const tool = registry.find(name)
    return tool && !tool.core ? [tool] : []
  })
  return [...core, ...more].map((tool) => tool.definition)
}
