import { FamiliarError } from '../../protocol/error.ts'
import type { ToolDefinition } from '../../protocol/tool.ts'
import type { ToolView } from '../../tools/registry.ts'

/** A client that brings a tool under a name of ours is told, and not silently passed over. */
export function refuseOurNames(ours: ToolView, theirs: readonly ToolDefinition[]): void {
  const taken = theirs.find(({ name }) => ours.find(name))
  if (taken) throw new FamiliarError('bad_request', `client_tools: there is a tool named ${taken.name} here already`)
}
