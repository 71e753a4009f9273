import { createMcpPrompts } from './create-mcp-prompts.ts'
import { covers, type McpCaller } from './mcp-caller.ts'
import type { McpNeeds } from './mcp-needs.ts'
import type { McpSurface } from './mcp-surface.ts'
import type { McpTool } from './mcp-tool.ts'
import { createMcpResources } from './resources/create-mcp-resources.ts'
import { createAskTool } from './tools/ask-tool.ts'
import { createCapabilityTools } from './tools/capability-tools.ts'
import { createForgetTool } from './tools/forget-tool.ts'
import { createRecallTool } from './tools/recall-tool.ts'
import { createStoreTool } from './tools/store-tool.ts'

/** Familiar as one caller may see it. The scope is asked in one place, for what is listed and for what is called. */
export function createMcpSurface(needs: McpNeeds, caller: McpCaller): McpSurface {
  const { capabilities } = needs
  const built = capabilities && createCapabilityTools({ ...needs, capabilities }, caller)
  const own = [
    createRecallTool(needs, caller),
    createStoreTool(needs, caller),
    createForgetTool(needs, caller),
    ...(built ? [built.findTools, built.runCapability] : []),
    createAskTool(needs, caller),
  ]
  const isAllowed = (tool: McpTool) => covers(caller.scope, tool.scope)
  return {
    tools: {
      list: () => [...own, ...(built?.listed() ?? [])].filter(isAllowed),
      find(name) {
        const tool = own.find(({ listed }) => listed.name === name) ?? built?.find(name)
        return tool && isAllowed(tool) ? tool : undefined
      },
    },
    resources: createMcpResources(needs, caller),
    prompts: createMcpPrompts(needs),
  }
}
