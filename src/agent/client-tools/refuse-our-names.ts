import { FamiliarError } from '../../protocol/error.ts'
import type { ToolDefinition } from '../../protocol/tool.ts'
import type { ToolView } from '../../tools/registry.ts'

/**
 * A client that brings a tool under a name of ours is told, and not silently passed over. What is only another word for one
 * of ours it may have: the page keeps its own memory with `save_memory` (CLIENT-2).
 */
export function refuseOurNames(ours: ToolView, theirs: readonly ToolDefinition[]): void {
  const taken = theirs.find(({ name }) => isOurName(ours, name))
  if (taken) throw new FamiliarError('bad_request', `client_tools: there is a tool named ${taken.name} here already`)
}

export function isOurName(ours: ToolView, name: string): boolean {
  return ours.find(name)?.definition.name === name
}
