import type { Tool } from './tool.ts'

/** What the turns of one user look at. */
export interface ToolView {
  /** By name or alias. */
  find(name: string): Tool | undefined
  /** In order of name, so that the same set always makes the same request. What shelves hold is not in it. */
  list(): readonly Tool[]
}

/** Tools that are too many to be listed, and each user's own: they are looked up by name, and searched for elsewhere. */
export interface ToolShelf {
  find(userId: string, name: string): Tool | undefined
}

export interface ToolRegistry extends ToolView {
  /** With what the shelves hold for this user, and without what is not for them. */
  viewOf(userId: string): ToolView
  /** A name that is registered hides the same name on a shelf. */
  addShelf(shelf: ToolShelf): void
  add(tool: Tool): void
  /**
   * Puts these tools in place of all that the source (`contract`, `mcp:calendar`) brought before, from the next look on.
   * A name or alias that another source has stays with it: such tools are left out, and their names returned.
   */
  replace(source: string, tools: readonly Tool[]): string[]
  /** What is registered with the source it came from, in order of name, whether tools are switched on or not. */
  entries(): readonly RegisteredTool[]
}

export interface RegisteredTool {
  tool: Tool
  source: string
}

/** The source of what was added one by one: what comes with the program. */
export const builtinSource = 'builtin'
/** The source of what folders hold. */
export const contractSource = 'contract'

/**
 * With `isEnabled` false there are no tools at all, from the next look on: the switch that stops everything. `prepare` is
 * done to every tool that comes in, whoever brings it. What `allows` refuses is not there for the user, neither by name
 * nor by alias, from the next look on (CLIENT-4).
 */
export function createToolRegistry(
  tools: readonly Tool[] = [],
  isEnabled: () => boolean = () => true,
  prepare: (tool: Tool) => Tool = (tool) => tool,
  allows: (userId: string, toolName: string) => boolean = () => true,
): ToolRegistry {
  const byName = new Map<string, RegisteredTool>()
  const shelves: ToolShelf[] = []
  let sorted: readonly RegisteredTool[] | undefined
  let sortedTools: readonly Tool[] | undefined

  function put({ tool, source }: RegisteredTool): void {
    const entry = { tool: prepare(tool), source }
    for (const name of namesOf(tool)) byName.set(name, entry)
    sorted = undefined
    sortedTools = undefined
  }

  function findOnShelves(userId: string, name: string): Tool | undefined {
    if (!isEnabled()) return undefined
    for (const shelf of shelves) {
      const tool = shelf.find(userId, name)
      if (tool) return prepare(tool)
    }
    return undefined
  }

  const registry: ToolRegistry = {
    add(tool) {
      const taken = namesOf(tool).find((name) => byName.has(name))
      if (taken !== undefined) throw new Error(`A tool named ${taken} is registered already`)
      put({ tool, source: builtinSource })
    },
    replace(source, replacing) {
      for (const [name, entry] of byName) if (entry.source === source) byName.delete(name)
      sorted = undefined
      sortedTools = undefined
      const leftOut: string[] = []
      for (const tool of replacing) {
        if (namesOf(tool).some((name) => byName.has(name))) leftOut.push(tool.definition.name)
        else put({ tool, source })
      }
      return leftOut
    },
    viewOf(userId) {
      const isTheirs = (tool: Tool) => allows(userId, tool.definition.name)
      return {
        find(name) {
          const tool = registry.find(name) ?? findOnShelves(userId, name)
          return tool && isTheirs(tool) ? tool : undefined
        },
        list: () => registry.list().filter(isTheirs),
      }
    },
    addShelf: (shelf) => void shelves.push(shelf),
    find: (name) => (isEnabled() ? byName.get(name)?.tool : undefined),
    list() {
      if (!isEnabled()) return []
      sortedTools ??= registry.entries().map((entry) => entry.tool)
      return sortedTools
    },
    entries() {
      sorted ??= [...new Set(byName.values())].sort((a, b) =>
        a.tool.definition.name < b.tool.definition.name ? -1 : 1,
      )
      return sorted
    },
  }
  for (const tool of tools) registry.add(tool)
  return registry
}

function namesOf({ definition, aliases }: Tool): string[] {
  return [definition.name, ...aliases]
}
