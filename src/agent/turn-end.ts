import { toUsd } from '../cost/money.ts'
import { emptyProjection, fold } from '../sessions/projection.ts'
import type { LoggedEvent } from '../sessions/session-event.ts'
import type { TurnEnd } from './conversations.ts'

/** What became of a turn, from its own events; undefined while it has not ended. */
export function turnEndOf(sessionId: string, events: readonly LoggedEvent[]): TurnEnd | undefined {
  const projection = emptyProjection()
  let recalled: TurnEnd['recalled'] = []
  for (const event of events) {
    const turn = projection.turn
    if (event.type === 'turn_ended' && turn) {
      return {
        turnId: turn.id,
        sessionId,
        outcome: event.outcome,
        text: event.text,
        question: event.question,
        deliver: event.deliver,
        failure: event.failure ?? null,
        recalled,
        toolCalls: event.toolCalls,
        model: turn.model,
        rounds: turn.rounds,
        usage: turn.usage,
        costUsd: turn.costNanousd === null ? null : toUsd(turn.costNanousd),
      }
    }
    if (event.type === 'turn_started') recalled = event.recalled
    fold(projection, event)
  }
  return undefined
}
