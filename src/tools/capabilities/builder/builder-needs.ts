import { FamiliarError } from '../../../protocol/error.ts'
import type { ToolContext } from '../../tool.ts'
import type { BuildFiles } from '../builds/build-files.ts'
import type { BuilderDesk } from '../builds/builder-desk.ts'
import type { Build } from '../builds/builds.ts'

/** What every tool of the Builder works on. */
export interface BuilderNeeds {
  desk: BuilderDesk
  files: BuildFiles
}

/** The build that the call belongs to. One that has ended takes nothing any more. */
export async function runningBuildOf(desk: BuilderDesk, { sessionId }: Pick<ToolContext, 'sessionId'>): Promise<Build> {
  const build = await desk.buildOf(sessionId)
  if (!build) throw new FamiliarError('not_found', 'No build belongs to the session')
  if (build.state !== 'running') throw new FamiliarError('conflict', 'This build has ended. Stop here.')
  return build
}

/** The user sees where a build goes, once for the same hosts; and what comes from there are words of others. */
export function reportReach(desk: BuilderDesk, build: Build, hosts: readonly string[]): Promise<void> {
  const seen = { untrusted: true, private: false }
  return desk.report(build, { callId: 'reach', message: `Reaching ${hosts.join(', ')}.`, seen })
}
