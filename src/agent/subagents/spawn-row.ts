import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { turnOutcomeSchema } from '../../sessions/session-event.ts'
import type { SpawnRow } from '../../storage/workspace-tables.ts'
import type { Spawn } from '../../tools/subagents/subagents.ts'

const seenSchema = z.object({ untrusted: z.boolean(), private: z.boolean() })
const requestSchema = z.object({
  task: z.string(),
  tools: z.array(z.string()).nullable(),
  model: z.string().nullable(),
  seen: seenSchema,
})
const resultSchema = z.object({
  outcome: turnOutcomeSchema,
  text: z.string(),
  seen: seenSchema,
})

/** A row as it was written. One that is damaged is told, never guessed at: its labels would be lost. */
export function spawnFromRow(row: SpawnRow & { session_id: string | null }): Spawn {
  return {
    id: row.id,
    userId: row.user_id,
    parentSessionId: row.parent_session_id,
    parentTurnId: row.parent_turn_id,
    request: read(row.id, row.request, requestSchema),
    state: row.state,
    result: row.result === null ? null : read(row.id, row.result, resultSchema),
    sessionId: row.session_id,
    createdAt: Number(row.created_at),
    endedAt: row.ended_at === null ? null : Number(row.ended_at),
  }
}

function read<T>(id: string, text: string, schema: z.ZodType<T>): T {
  const parsed = parseJson(text, schema)
  if (!parsed.ok) throw new FamiliarError('internal', `The row of spawn ${id} is damaged: ${parsed.message}`)
  return parsed.value
}
