import type { ToolCatalog } from '../../../../tools/contract/tool-catalog.ts'
import type { Route } from '../../route.ts'
import { createContractPathRoutes } from './contract-path-routes.ts'
import { createToolConfigRoutes } from './tool-config-routes.ts'
import { createToolListRoutes } from './tool-list-routes.ts'
import { createToolOwnTestRoutes } from './tool-own-test-routes.ts'
import { createToolRunRoutes } from './tool-run-routes.ts'

/** Tools, by name. Which hosts one may reach and where its folder lies is not to be said here (SEC-4). */
export function createToolRoutes(tools: ToolCatalog): Route[] {
  return [
    ...createToolListRoutes(tools),
    ...createToolConfigRoutes(tools),
    ...createToolRunRoutes(tools),
    ...createToolOwnTestRoutes(tools),
    ...createContractPathRoutes(tools),
  ]
}
