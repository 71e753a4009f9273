import { errorType } from '../monitor/telemetry/attributes.ts'
import type { Telemetry } from '../monitor/telemetry/telemetry.ts'
import type { RecallForTurn } from './recall-for-turn.ts'

/** The same, with how long it takes and how much it finds. */
export function watchRecall(recall: RecallForTurn, telemetry: Telemetry): RecallForTurn {
  const attributes = { 'gen_ai.operation.name': 'search_memory' }
  return (query) =>
    telemetry.inSpan({ operation: 'search_memory', kind: 'internal', attributes }, async (span) => {
      const startedAt = performance.now()
      let failure: { 'error.type'?: string } = {}
      try {
        const recalled = await recall(query)
        span.set({ 'familiar.recall.memories': recalled.length })
        return recalled
      } catch (cause) {
        failure = { 'error.type': errorType(cause) }
        throw cause
      } finally {
        telemetry.record('familiar.recall.duration', failure, (performance.now() - startedAt) / 1_000)
      }
    })
}
