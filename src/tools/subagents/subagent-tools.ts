import type { Clock } from '../../base/clock.ts'
import type { Tool } from '../tool.ts'
import { createSessionsCollect } from './sessions-collect.ts'
import { createSessionsSpawn } from './sessions-spawn.ts'
import { createSessionsWait } from './sessions-wait.ts'
import type { Subagents } from './subagents.ts'

/** How a conversation gives work away and gets its results. */
export function createSubagentTools(dependencies: { subagents: Subagents; clock: Clock }): Tool[] {
  return [createSessionsSpawn(dependencies), createSessionsWait(dependencies), createSessionsCollect(dependencies)]
}
