import type { Clock } from '../base/clock.ts'
import { parseAnyJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Json } from '../protocol/json.ts'
import type { Database } from '../storage/database.ts'

const largestState = 64 * 1024

/** What a tool asked to be given at its next run; an empty object before it asked. */
export async function readKeptState(database: Database, tool: string): Promise<Json> {
  const row = await database.read.selectFrom('tool_states').select('state').where('name', '=', tool).executeTakeFirst()
  const parsed = parseAnyJson(row?.state ?? '{}')
  return parsed.ok ? parsed.value : {}
}

/** A `payload_too_large` where it asks for more than is kept; what it was given before stays then. */
export async function writeKeptState(
  { database, clock }: { database: Database; clock: Clock },
  tool: string,
  state: Json,
): Promise<void> {
  const text = JSON.stringify(state)
  if (text.length > largestState) {
    throw new FamiliarError('payload_too_large', `Its _state has ${text.length} characters; ${largestState} are kept.`)
  }
  const updated_at = clock.now()
  // A tool that runs is enabled: a row that is not there yet says nothing else.
  const row = { name: tool, is_enabled: 1, fingerprint: null, hosts: '[]', state: text, updated_at } as const
  await database.write((writer) =>
    writer
      .insertInto('tool_states')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ state: text, updated_at }))
      .execute(),
  )
}
