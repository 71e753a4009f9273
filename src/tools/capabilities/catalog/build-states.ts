import type { Clock } from '../../../base/clock.ts'
import type { Ids } from '../../../base/ids.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { CapabilityRow } from '../../../storage/capability-tables.ts'
import { noPermissions, selectCapabilities, toCapability } from './capability-record.ts'
import type { CapabilityCatalog } from './catalog.ts'

/** What a build does to the state of its capability (CAP-2), in the unit that writes the build. */
export function createBuildStates({
  clock,
  ids,
}: {
  clock: Clock
  ids: Ids
}): Pick<CapabilityCatalog, 'beginBuildIn' | 'endBuildIn'> {
  return {
    async beginBuildIn(writer, { userId, name, description, inputSchema }) {
      const row = await selectCapabilities(writer)
        .where('user_id', '=', userId)
        .where('name', '=', name)
        .executeTakeFirst()
      if (row?.state === 'disabled') {
        throw new FamiliarError('conflict', `${name} is switched off: "familiar caps enable ${name}" comes first.`)
      }
      const now = clock.now()
      const asked = { description, input_schema: JSON.stringify(inputSchema) }
      if (!row) {
        const made = newRow({ id: ids.next(), user_id: userId, name, ...asked, created_at: now, updated_at: now })
        await writer.insertInto('capabilities').values(made).execute()
        return toCapability(made)
      }
      const building = { state: 'building' as const, problem: null, updated_at: now }
      // A version that serves goes on to say what it does and takes, until the new one says otherwise.
      const changes = row.version === null ? { ...asked, ...building } : building
      await writer.updateTable('capabilities').set(changes).where('id', '=', row.id).execute()
      return toCapability({ ...row, ...changes })
    },
    async endBuildIn(writer, { capabilityId, problem }) {
      const row = await selectCapabilities(writer).where('id', '=', capabilityId).executeTakeFirst()
      // It has been switched off meanwhile, or a version was registered.
      if (row?.state !== 'building') return
      const ended = row.version === null ? { state: 'failed' as const, problem } : { state: 'active' as const }
      const changes = { ...ended, updated_at: clock.now() }
      await writer.updateTable('capabilities').set(changes).where('id', '=', capabilityId).execute()
    },
  }
}

type Asked = Pick<
  CapabilityRow,
  'id' | 'user_id' | 'name' | 'description' | 'input_schema' | 'created_at' | 'updated_at'
>

function newRow(asked: Asked): CapabilityRow {
  return {
    ...asked,
    state: 'building',
    origin: 'built',
    version: null,
    tags: '[]',
    permissions: JSON.stringify(noPermissions),
    problem: null,
    calls: 0,
    failures: 0,
    last_called_at: null,
    last_error: null,
    failing_input: null,
  }
}
