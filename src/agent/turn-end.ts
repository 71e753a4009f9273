import { toUsd } from '../cost/money.ts'
import { emptyProjection, fold } from '../sessions/projection.ts'
import type { LoggedEvent } from '../sessions/session-event.ts'
import type { TurnState } from '../sessions/turn-state.ts'
import type { TurnEnd } from './conversations.ts'
import type { TurnEnded } from './turn-events.ts'

/** What whoever waited is told, from the turn as it stood when it ended. */
export function turnEndFrom(sessionId: string, turn: TurnState, ended: TurnEnded): TurnEnd {
  return {
    turnId: turn.id,
    sessionId,
    outcome: ended.outcome,
    text: ended.text,
    question: ended.question,
    deliver: ended.deliver,
    failure: ended.failure ?? null,
    recalled: turn.recalled,
    toolCalls: ended.toolCalls,
    cards: turn.cards,
    model: turn.model,
    rounds: turn.rounds,
    usage: turn.usage,
    costUsd: turn.costNanousd === null ? null : toUsd(turn.costNanousd),
  }
}

/** The same from the turn's own events; undefined while it has not ended. */
export function turnEndOf(sessionId: string, events: readonly LoggedEvent[]): TurnEnd | undefined {
  const projection = emptyProjection()
  for (const event of events) {
    if (event.type === 'turn_ended' && projection.turn) return turnEndFrom(sessionId, projection.turn, event)
    fold(projection, event)
  }
  return undefined
}
