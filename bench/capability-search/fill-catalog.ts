import type { Database } from '../../src/storage/database.ts'
import type { BenchCapability } from './capability-set.ts'

export const benchUser = 'bench'

const rowsPerUnit = 500
const inputSchema = {
  type: 'object',
  properties: { subject: { type: 'string' }, from: { type: 'string', format: 'date' }, limit: { type: 'integer' } },
  required: ['subject'],
}

/** Rows as registration writes them. There are no files: what is looked for never runs. */
export async function fillCatalog(
  database: Database,
  capabilities: readonly BenchCapability[],
  userId = benchUser,
): Promise<void> {
  for (let from = 0; from < capabilities.length; from += rowsPerUnit) {
    const some = capabilities.slice(from, from + rowsPerUnit)
    await database.write(async (writer) => {
      await writer
        .insertInto('capabilities')
        .values(some.map((capability, index) => capabilityRow(capability, { userId, at: from + index })))
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      await writer
        .insertInto('capability_versions')
        .values(some.map((capability, index) => versionRow(capability, from + index)))
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    })
  }
}

const idOf = ({ name }: BenchCapability) => `capability-${name}`

function capabilityRow(capability: BenchCapability, { userId, at }: { userId: string; at: number }) {
  const { name, description, tags } = capability
  return {
    id: idOf(capability),
    user_id: userId,
    name,
    description,
    state: 'active' as const,
    origin: 'built' as const,
    version: 1,
    input_schema: JSON.stringify(inputSchema),
    tags: JSON.stringify(tags),
    permissions: '{"hosts":[],"secrets":[],"storage":false}',
    problem: null,
    last_called_at: null,
    last_error: null,
    failing_input: null,
    created_at: at,
    updated_at: at,
  }
}

function versionRow(capability: BenchCapability, at: number) {
  const { name, description, tags, askedAs } = capability
  const declared = { hosts: [], secrets: [], storage: false, timeoutMs: 30_000, memoryBytes: 256 * 1024 ** 2 }
  const manifest = { name, description, runtime: 'python', inputSchema, tags, askedAs, ...declared }
  const row = { manifest: JSON.stringify(manifest), hash: '', build_id: null, created_at: at }
  return { capability_id: idOf(capability), version: 1, ...row }
}
