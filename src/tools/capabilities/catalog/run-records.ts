import type { Clock } from '../../../base/clock.ts'
import { parseAnyJson } from '../../../base/json.ts'
import { toStorableText } from '../../../base/text.ts'
import type { Json } from '../../../protocol/json.ts'
import type { Database } from '../../../storage/database.ts'
import { type Capability, toolNameOf } from '../capability.ts'
import type { CapabilityRun } from '../execute/executor.ts'
import type { CapabilityStatistics } from './catalog.ts'

/** How calls went. */
export interface RunRecords {
  record(capabilityId: string, input: Json, run: CapabilityRun): Promise<void>
  lastFailure(capabilityId: string): Promise<{ input: Json; error: string } | undefined>
  statistics(capability: Capability): Promise<CapabilityStatistics>
}

/** What is larger is of no use as an example. */
const largestInput = 16 * 1024
const longestError = 4_000
const mostCalls = 200

export function createRunRecords({ database, clock }: { database: Database; clock: Clock }): RunRecords {
  return {
    async record(capabilityId, input, run) {
      // It has not run: that says nothing of how it serves.
      if (run.outcome === 'refused') return
      const now = clock.now()
      const given = JSON.stringify(input)
      const error = toStorableText(run.error ?? 'It did not say why.').slice(-longestError)
      const failure = {
        last_error: error.toWellFormed(),
        failing_input: Buffer.byteLength(given) <= largestInput ? given : null,
      }
      await database.write(async (writer) => {
        await writer
          .updateTable('capabilities')
          .set((set) => ({
            calls: set('calls', '+', 1),
            last_called_at: now,
            ...(!run.ok && { failures: set('failures', '+', 1), ...failure }),
          }))
          .where('id', '=', capabilityId)
          .execute()
      })
    },
    async lastFailure(capabilityId) {
      const row = await database.read
        .selectFrom('capabilities')
        .select(['failing_input', 'last_error'])
        .where('id', '=', capabilityId)
        .executeTakeFirst()
      if (row?.failing_input == null || row.last_error === null) return undefined
      const input = parseAnyJson(row.failing_input)
      return input.ok ? { input: input.value, error: row.last_error } : undefined
    },
    async statistics({ userId, name, calls, failures, lastCalledAt, lastError }) {
      const rows = await database.read
        .selectFrom('tool_calls')
        .select('duration_ms')
        .where('user_id', '=', userId)
        .where('tool', '=', toolNameOf(name))
        .where('outcome', '!=', 'refused')
        .orderBy('at', 'desc')
        .limit(mostCalls)
        .execute()
      const times = rows.map((row) => Number(row.duration_ms)).sort((a, b) => a - b)
      return { calls, failures, medianMs: times[times.length >> 1] ?? null, lastCalledAt, lastError }
    },
  }
}
