import type { ModelResponse } from '../models/model.ts'
import { textOf } from '../sessions/projection.ts'
import type { TurnState } from '../sessions/turn-state.ts'
import { nextStep } from './next-step.ts'
import type { Role } from './role.ts'
import type { Ending } from './turn-events.ts'

/** How a response without calls ends its turn. */
export function endingOf(
  role: Role,
  turn: TurnState,
  { stopReason, parts }: Pick<ModelResponse, 'stopReason' | 'parts'>,
): Ending {
  const after = { ...turn, rounds: turn.rounds + 1, calls: [], stopReason, text: textOf(parts) }
  const step = nextStep(after, 0, role)
  return step.do === 'end' ? step : { outcome: 'completed', text: after.text }
}
