import { outcomeUnknown } from '../../../src/agent/sessions/projection.ts'
import type { ToolCallPart } from '../../../src/protocol/messages.ts'
import { type Evidence, interruptionsWithin } from './evidence.ts'
import { ofType, type Recorded, type RecordedTurn, turnsOf } from './recorded.ts'

/** The outside effects match the log, and no at-most-once effect happened twice. */
export function checkTools(evidence: Evidence, recorded: Recorded): string[] {
  const turns = turnsOf(recorded)
  return [
    ...checkOnce(evidence),
    ...checkStarted(evidence, turns),
    ...turns.flatMap((turn) => checkCalls(evidence, turn)),
  ]
}

/** By call, and by what the call was to do: a second call for the same thing doubles it just as well. */
function checkOnce({ sideEffects }: Evidence): string[] {
  const once = sideEffects.filter(({ effect }) => effect === 'at-most-once')
  return [...repeated(once.map(({ callId }) => callId)), ...repeated(once.map(({ operation }) => operation))].map(
    (name) => `double side effect: ${name}`,
  )
}

function repeated(names: string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}

/** Nothing happens before it is written that it begins. */
function checkStarted({ sideEffects }: Evidence, turns: RecordedTurn[]): string[] {
  const started = new Set(turns.flatMap((turn) => ofType(turn.events, 'tool_started').map((event) => event.callId)))
  return sideEffects
    .filter(({ callId }) => !started.has(callId))
    .map(({ callId, operation }) => `unwritten side effect: ${operation} by call ${callId}`)
}

function checkCalls(evidence: Evidence, turn: RecordedTurn): string[] {
  const calls = ofType(turn.events, 'model_responded')
    .filter((event) => event.stopReason !== 'end')
    .flatMap((event) => event.parts.filter((part) => part.type === 'tool_call'))
  return calls.flatMap((call) => checkCall(evidence, turn, call))
}

function checkCall(evidence: Evidence, turn: RecordedTurn, call: ToolCallPart): string[] {
  const finishes = ofType(turn.events, 'tool_finished').filter((event) => event.callId === call.id)
  const finished = finishes[0]
  if (finishes.length > 1) return [`double result: call ${call.id} finished ${finishes.length} times`]
  if (!finished) return evidence.settled ? [`orphan tool call: ${call.id} (${call.name}) has no result`] : []
  if (finished.isError) return checkUnfinished(evidence, turn, call, finished.text)
  const happened = evidence.sideEffects.filter((line) => line.callId === call.id).length
  const leavesLine = evidence.ledgerTools.includes(call.name)
  return leavesLine && happened === 0
    ? [`missing side effect: call ${call.id} (${call.name}) succeeded without it`]
    : []
}

/** Only a crash while the call ran makes its outcome unknown, and only where it may not run again. */
function checkUnfinished(evidence: Evidence, turn: RecordedTurn, call: ToolCallPart, told: string): string[] {
  if (told !== outcomeUnknown) return [`failed tool: call ${call.id} (${call.name}) was told ${JSON.stringify(told)}`]
  const effect = ofType(turn.events, 'tool_started').find((event) => event.callId === call.id)?.effect
  if (effect !== 'at-most-once') return [`idle repair: call ${call.id} (${effect ?? 'never begun'}) could have run`]
  return interruptionsWithin(evidence, turn.span) > 0 ? [] : [`idle repair: call ${call.id} was not interrupted`]
}
