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
    const rows = capabilities.slice(from, from + rowsPerUnit).map(({ name, description, tags }, index) => ({
      id: `capability-${name}`,
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
      created_at: from + index,
      updated_at: from + index,
    }))
    await database.write((writer) =>
      writer
        .insertInto('capabilities')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    )
  }
}
