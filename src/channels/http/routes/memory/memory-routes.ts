import type { HttpDependencies } from '../../http-dependencies.ts'
import type { Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { createAliasRoutes } from './alias-routes.ts'
import { createChangeRoutes } from './change-routes.ts'
import { createCommitmentRoutes } from './commitment-routes.ts'
import { createConsolidateRoutes } from './consolidate-routes.ts'
import { createFactRoutes } from './fact-routes.ts'
import { createFileRoutes } from './file-routes.ts'
import { createGraphRoutes } from './graph-routes.ts'
import { createNoteRoutes } from './note-routes.ts'
import { createOneMemoryRoutes } from './one-memory-routes.ts'
import { createSearchRoutes } from './search-routes.ts'
import { createStatsRoutes } from './stats-routes.ts'
import { createTransferRoutes } from './transfer-routes.ts'

/**
 * Everything that can be asked of memory. All of it is the caller's own: another user's is as unknown as what never was.
 * To look needs `read`; to change anything, `owner`: speaking is the one way in which `chat` may change what is known.
 */
export function createMemoryRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  return [
    ...createNoteRoutes(dependencies),
    ...createSearchRoutes(dependencies, streamReply),
    ...createChangeRoutes(dependencies),
    ...createFactRoutes(dependencies),
    ...createCommitmentRoutes(dependencies),
    ...createAliasRoutes(dependencies),
    ...createGraphRoutes(dependencies),
    ...createFileRoutes(dependencies, streamReply),
    ...createConsolidateRoutes(dependencies, streamReply),
    ...createTransferRoutes(dependencies, streamReply),
    ...createStatsRoutes(dependencies),
    // Last: everything above is a name of its own, not an id.
    ...createOneMemoryRoutes(dependencies),
  ]
}
