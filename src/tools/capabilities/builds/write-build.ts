import { FamiliarError } from '../../../protocol/error.ts'
import type { Writer } from '../../../storage/database.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import { appendEventIn } from './build-events.ts'
import { putBuildFileIn } from './build-files.ts'
import { selectBuilds, toBuild } from './build-row.ts'
import type { Build, Builds } from './builds.ts'

type WantedBuild = Parameters<Builds['request']>[0]

/** The capability in `building`, the build, its files and its first event, all or none. Not new: it was asked for before. */
export async function writeBuildIn(
  writer: Writer,
  given: {
    wanted: WantedBuild
    files: ReadonlyMap<string, string> | undefined
    id: string
    now: number
    catalog: Pick<CapabilityCatalog, 'beginBuildIn'>
  },
): Promise<{ build: Build; isNew: boolean }> {
  const { wanted, files = new Map<string, string>(), id, now, catalog } = given
  const { userId, name, kind, request } = wanted
  const known = await findAskedIn(writer, wanted)
  if (known) return { build: known, isNew: false }
  const { description, inputSchema } = request
  const capability = await catalog.beginBuildIn(writer, { userId, name, description, inputSchema })
  const other = await selectBuilds(writer)
    .where('builds.capability_id', '=', capability.id)
    .where('builds.state', '=', 'running')
    .executeTakeFirst()
  if (other) throw new FamiliarError('conflict', `${name} is being built already, as build ${other.id}`)
  const row = {
    id,
    user_id: userId,
    capability_id: capability.id,
    kind,
    state: 'running' as const,
    request: JSON.stringify(request),
    session_id: wanted.sessionId,
    call_id: wanted.callId,
    error: null,
    created_at: now,
    updated_at: now,
    ended_at: null,
  }
  await writer.insertInto('builds').values(row).execute()
  for (const [path, content] of files) await putBuildFileIn(writer, { buildId: id, path, content })
  const message = kind === 'repair' ? `Repairing ${name}.` : `Building ${name}.`
  await appendEventIn(writer, { buildId: id, at: now, body: { type: 'progress', message } })
  return { build: toBuild({ ...row, name }), isNew: true }
}

/** A call that is made again after a restart asks for the same build. */
async function findAskedIn(writer: Writer, { userId, sessionId, callId }: WantedBuild): Promise<Build | undefined> {
  if (sessionId === null || callId === null) return undefined
  const row = await selectBuilds(writer)
    .where('builds.session_id', '=', sessionId)
    .where('builds.call_id', '=', callId)
    .where('builds.user_id', '=', userId)
    .executeTakeFirst()
  return row && toBuild(row)
}
