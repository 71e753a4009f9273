import type { ToolShelf } from '../registry.ts'
import type { AfterFailure } from './after-failure.ts'
import { toolNameOf } from './capability.ts'
import { createCapabilityTool } from './capability-tool.ts'
import type { CapabilityCatalog } from './catalog/catalog.ts'
import { serves } from './catalog/serves.ts'
import type { CapabilityRuns } from './run-capability.ts'

const prefix = toolNameOf('')

/** Capabilities that serve, as tools. */
export function createCapabilityShelf(dependencies: {
  catalog: CapabilityCatalog
  runs: CapabilityRuns
  afterFailure: AfterFailure
}): ToolShelf {
  const { catalog } = dependencies
  return {
    find(userId, name) {
      if (!name.startsWith(prefix)) return undefined
      const capability = catalog.find(userId, name.slice(prefix.length))
      return capability && serves(capability) ? createCapabilityTool(capability, dependencies) : undefined
    },
  }
}
