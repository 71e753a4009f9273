import type { ModelResponse } from '../models/model.ts'
import type { ToolChoice } from '../protocol/messages.ts'
import type { Ending } from './event-stream.ts'
import { textOf } from './sessions/projection.ts'
import { isSilentReply, type TurnState } from './sessions/session-event.ts'

interface Limits {
  maxRounds: number
}

interface TurnNotice {
  about: 'rounds' | 'failures' | 'tool_choice'
  text: string
}

type NextStep =
  | { do: 'run_tools' }
  | { do: 'call_model'; notices: TurnNotice[] }
  | { do: 'end'; outcome: 'completed' | 'question' | 'stopped' | 'round_limit' | 'repeated_failure'; text: string }

const cutNotice = 'The reply was cut at its length limit. Say “continue” for the rest.'
const warnAtFailures = 3
const stopAtFailures = 5
const warnAtRoundsLeft = 2

/** The next step of a turn, derived only from its log: an interrupted turn continues exactly like any other. */
export function nextStep(turn: TurnState, unanswered: number, limits: Limits): NextStep {
  if (turn.stopRequested) return { do: 'end', outcome: 'stopped', text: 'Stopped.' }
  if (unanswered > 0) return { do: 'run_tools' }
  const question = questionOf(turn)
  if (question) return { do: 'end', outcome: 'question', text: withQuestion(turn, question) }
  const missed = turn.stopReason === 'end' && !turn.notified.includes('tool_choice') ? choiceDue(turn) : undefined
  const isAnswered = turn.rounds > 0 && turn.calls.length === 0 && turn.stopReason !== null
  if (isAnswered && missed && turn.rounds < limits.maxRounds) {
    return { do: 'call_model', notices: [{ about: 'tool_choice', text: demandOf(missed) }] }
  }
  if (isAnswered) return { do: 'end', outcome: 'completed', text: finalText(turn) }
  const worst = Math.max(0, ...Object.values(turn.failures))
  if (worst >= stopAtFailures) {
    const text = `I stopped because the same call failed ${worst} times with the same error. ${turn.text}`.trim()
    return { do: 'end', outcome: 'repeated_failure', text }
  }
  if (turn.rounds >= limits.maxRounds) {
    const text = `I stopped at the limit of ${limits.maxRounds} rounds before I was finished. ${turn.text}`.trim()
    return { do: 'end', outcome: 'round_limit', text }
  }
  return { do: 'call_model', notices: noticesDue(turn, worst, limits) }
}

/** How a response without calls ends its turn; undefined if the model is called again. */
export function endingOf(
  limits: Limits,
  turn: TurnState,
  { stopReason, parts, notice }: Pick<ModelResponse, 'stopReason' | 'parts' | 'notice'>,
): Ending | undefined {
  const after = {
    ...turn,
    rounds: turn.rounds + 1,
    calls: [],
    stopReason,
    text: textOf(parts),
    ...(notice !== undefined && { notice }),
  }
  const step = nextStep(after, 0, limits)
  return step.do === 'end' ? step : undefined
}

/** The tool call that the client demands, until the turn has made it. */
export function choiceDue({ toolChoice, clientTools = [], toolCalls }: TurnState): ToolChoice | undefined {
  if (toolChoice === undefined) return undefined
  const names = toolChoice === 'any' ? clientTools.map(({ name }) => name) : [toolChoice.name]
  return toolCalls.some(({ name }) => names.includes(name)) ? undefined : toolChoice
}

function demandOf(choice: ToolChoice): string {
  const what = choice === 'any' ? 'one of its tools' : `the tool ${choice.name}`
  return `[The client needs a call of ${what} and cannot use a text answer. Call it now.]`
}

function noticesDue(turn: TurnState, worst: number, limits: Limits) {
  const notices: TurnNotice[] = []
  const roundsLeft = limits.maxRounds - turn.rounds
  if (turn.rounds > 0 && roundsLeft <= warnAtRoundsLeft && !turn.notified.includes('rounds')) {
    notices.push({ about: 'rounds', text: `[Only ${roundsLeft} rounds are left in this turn. Finish now.]` })
  }
  if (worst >= warnAtFailures && !turn.notified.includes('failures')) {
    const text = `[The same call has failed ${worst} times with the same error. Try something else or report the failure.]`
    notices.push({ about: 'failures', text })
  }
  return notices
}

const declined = 'The model declined to answer this.'
const cutBeforeText = 'The reply reached its length limit before any text.'
const empty = 'The model gave an empty reply.'

/** The texts that replace a reply without text. */
export const emptyReplies: ReadonlySet<string> = new Set([declined, cutBeforeText, empty])

function finalText(turn: TurnState): string {
  const text = spokenText(turn)
  // A silent reply stays one.
  return turn.notice === undefined || isSilentReply(text) ? text : `${text}\n\n[${turn.notice}]`
}

function spokenText({ text, stopReason }: TurnState): string {
  if (text.trim()) return stopReason === 'max_tokens' ? `${text}\n\n[${cutNotice}]` : text
  if (stopReason === 'refusal') return declined
  return stopReason === 'max_tokens' ? cutBeforeText : empty
}

/** Everything that the user is asked when the turn ends, what waits for their approval last. */
export function questionOf(turn: Pick<TurnState, 'question' | 'approvals'>): string | null {
  const asked = turn.approvals.map(({ question }) => question)
  return [...(turn.question ? [turn.question] : []), ...asked].join('\n') || null
}

/**
 * The user always reads the question that their next words will be taken as the answer to. One for their approval
 * stands at the end, alone: nothing that the model says may come between it and the answer.
 */
function withQuestion({ text, approvals }: TurnState, question: string): string {
  if (approvals.length === 0 && text.includes(question)) return text
  return [text, question].filter(Boolean).join('\n\n')
}

/**
 * The durable steps of a message, in the order in which it passes them. The crash suite kills the process at each one;
 * nothing else may depend on them.
 */
export const stepNames = [
  'inbox_committed',
  'turn_starting',
  'turn_started',
  'call_reserved',
  'response_streaming',
  'response_received',
  'response_recorded',
  'tool_starting',
  'tool_ran',
  'tool_recorded',
  'turn_ended',
  'summary_received',
  'compaction_recorded',
  'snapshot_saved',
] as const

export type StepName = (typeof stepNames)[number]
export type OnStep = (step: StepName) => void
