import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { BuildRow } from '../../../storage/capability-tables.ts'
import type { Reader, Writer } from '../../../storage/database.ts'
import type { Build } from './builds.ts'

export const seenSchema = z.object({ untrusted: z.boolean(), private: z.boolean() })

const requestSchema = z.object({
  description: z.string(),
  inputSchema: z.record(z.string(), z.json()),
  failure: z.object({ input: z.json(), error: z.string() }).nullable(),
  seen: seenSchema,
})

type NamedBuildRow = Omit<BuildRow, 'is_told'> & { name: string }

/** Builds with the names of what they build. */
export function selectBuilds(reader: Reader | Writer) {
  return reader
    .selectFrom('builds')
    .innerJoin('capabilities', 'capabilities.id', 'builds.capability_id')
    .selectAll('builds')
    .select('capabilities.name as name')
}

export function toBuild(row: NamedBuildRow): Build {
  const request = parseJson(row.request, requestSchema)
  if (!request.ok) throw new Error(`The request of build ${row.id} cannot be read: ${request.message}`)
  return {
    id: row.id,
    userId: row.user_id,
    capabilityId: row.capability_id,
    name: row.name,
    kind: row.kind,
    state: row.state,
    request: request.value,
    sessionId: row.session_id,
    error: row.error,
    createdAt: Number(row.created_at),
    endedAt: row.ended_at === null ? null : Number(row.ended_at),
  }
}

export async function isRunningIn(writer: Writer, buildId: string): Promise<boolean> {
  const row = await writer.selectFrom('builds').select('state').where('id', '=', buildId).executeTakeFirst()
  return row?.state === 'running'
}
