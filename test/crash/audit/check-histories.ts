import { project, toMessages } from '../../../src/agent/sessions/projection.ts'
import { faultsOfHistory } from '../../support/valid-history.ts'
import type { Evidence } from './evidence.ts'
import type { Recorded } from './recorded.ts'

/** No provider refused a request, and none would refuse the next one of any session. */
export function checkHistories(evidence: Evidence, recorded: Recorded): string[] {
  const refused = evidence.rejections.map((reason) => `provider rejection: ${reason}`)
  const faults = [...recorded.events].flatMap(([sessionId, events]) =>
    faultsOfHistory(toMessages(project(events), { mediaOfTurn: null })).map(
      (fault) => `invalid history: session ${sessionId}, ${fault}`,
    ),
  )
  return [...refused, ...faults]
}
