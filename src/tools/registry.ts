import type { Tool } from './tool.ts'

export interface ToolRegistry {
  add(tool: Tool): void
  /** By name or alias. */
  find(name: string): Tool | undefined
  /** In order of name, so that the same set always makes the same request. */
  list(): readonly Tool[]
}

/** With `isEnabled` false there are no tools at all, from the next look on: the switch that stops everything. */
export function createToolRegistry(tools: readonly Tool[] = [], isEnabled: () => boolean = () => true): ToolRegistry {
  const byName = new Map<string, Tool>()
  let sorted: readonly Tool[] | undefined
  const registry: ToolRegistry = {
    add(tool) {
      for (const name of [tool.definition.name, ...tool.aliases]) {
        if (byName.has(name)) throw new Error(`A tool named ${name} is registered already`)
        byName.set(name, tool)
      }
      sorted = undefined
    },
    find: (name) => (isEnabled() ? byName.get(name) : undefined),
    list() {
      if (!isEnabled()) return []
      sorted ??= [...new Set(byName.values())].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
      return sorted
    },
  }
  for (const tool of tools) registry.add(tool)
  return registry
}
