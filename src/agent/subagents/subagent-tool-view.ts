import type { ToolView } from '../../tools/registry.ts'
import { deniedTools } from '../../tools/subagents/denied-tools.ts'
import type { Tool } from '../../tools/tool.ts'

/**
 * A part of what the parent has, at every look: what is taken from the parent is taken from here (SEC-17). Tools that were
 * named carry their schema in every request: there are few, and this is what they were named for.
 */
export function subagentToolView(parent: ToolView, names: readonly string[] | null): ToolView {
  const isGiven = ({ definition: { name } }: Tool) => !deniedTools.has(name) && (!names || names.includes(name))
  const given = (tool: Tool): Tool => (names ? { ...tool, core: true } : tool)
  return {
    find(name) {
      const tool = parent.find(name)
      return tool && isGiven(tool) ? given(tool) : undefined
    },
    list() {
      if (!names) return parent.list().filter(isGiven)
      // Looked up one by one: what shelves hold is not in the parent's list.
      return [...names].sort().flatMap((name) => {
        const tool = parent.find(name)
        return tool && isGiven(tool) ? [given(tool)] : []
      })
    },
  }
}
