import type { Tool } from '../../tool.ts'
import { createExecuteCapability } from './execute-capability.ts'
import { createLookupCapability } from './lookup-capability.ts'
import { createReadRunMd } from './read-run-md.ts'
import { createRepairCapabilityTool } from './repair-capability-tool.ts'
import { createRequestCapability } from './request-capability.ts'

type Needs = Parameters<typeof createLookupCapability>[0] &
  Parameters<typeof createRequestCapability>[0] &
  Parameters<typeof createExecuteCapability>[0] &
  Parameters<typeof createRepairCapabilityTool>[0]

/** What a conversation does with capabilities (CAP-1). The first two are core: they cost tokens in every request. */
export function createCapabilityTools(needs: Needs): Tool[] {
  return [
    createLookupCapability(needs),
    createRequestCapability(needs),
    createExecuteCapability(needs),
    createReadRunMd(needs),
    createRepairCapabilityTool(needs),
  ]
}
