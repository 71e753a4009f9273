import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import type { Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { createBuildEventRoutes } from './build-event-routes.ts'
import { createBuildRoutes } from './build-routes.ts'
import { createCapabilityFileRoutes } from './capability-file-routes.ts'
import { createCapabilityFolderRoutes } from './capability-folder-routes.ts'
import { createCapabilityListRoutes } from './capability-list-routes.ts'
import { createCapabilityRunRoutes } from './capability-run-routes.ts'
import { createCapabilitySwitchRoutes } from './capability-switch-routes.ts'

/** Capabilities by name, and their builds. No token brings code, a path or a host in here (SEC-4). */
export function createCapabilityRoutes(capabilities: Capabilities, streamReply: StreamReply): Route[] {
  return [
    ...createCapabilityListRoutes(capabilities),
    ...createCapabilityFileRoutes(capabilities),
    ...createCapabilityRunRoutes(capabilities),
    ...createCapabilitySwitchRoutes(capabilities),
    ...createCapabilityFolderRoutes(capabilities, streamReply),
    ...createBuildRoutes(capabilities),
    ...createBuildEventRoutes(capabilities, streamReply),
  ]
}
