import type { TurnState } from '../sessions/turn-state.ts'

interface Limits {
  maxRounds: number
}

export type NextStep =
  | { do: 'run_tools' }
  | { do: 'call_model'; notices: { about: 'rounds' | 'failures'; text: string }[] }
  | { do: 'end'; outcome: 'completed' | 'question' | 'stopped' | 'round_limit' | 'repeated_failure'; text: string }

const warnAtFailures = 3
const stopAtFailures = 5
const warnAtRoundsLeft = 2

/**
 * What a turn does next, from what is written down of it and nothing else: a turn that was interrupted goes on exactly
 * as one that was not.
 */
export function nextStep(turn: TurnState, unanswered: number, limits: Limits): NextStep {
  if (turn.stopRequested) return { do: 'end', outcome: 'stopped', text: 'Stopped.' }
  if (unanswered > 0) return { do: 'run_tools' }
  const question = questionOf(turn)
  if (question) return { do: 'end', outcome: 'question', text: withQuestion(turn, question) }
  if (turn.rounds > 0 && turn.calls.length === 0) return { do: 'end', outcome: 'completed', text: finalText(turn) }
  const worst = Math.max(0, ...Object.values(turn.failures))
  if (worst >= stopAtFailures) {
    const text = `I stopped: the same call failed ${worst} times in the same way. ${turn.text}`.trim()
    return { do: 'end', outcome: 'repeated_failure', text }
  }
  if (turn.rounds >= limits.maxRounds) {
    const text = `I stopped at the limit of ${limits.maxRounds} rounds before I was done. ${turn.text}`.trim()
    return { do: 'end', outcome: 'round_limit', text }
  }
  return { do: 'call_model', notices: noticesDue(turn, worst, limits) }
}

function noticesDue(turn: TurnState, worst: number, limits: Limits) {
  const notices: { about: 'rounds' | 'failures'; text: string }[] = []
  const roundsLeft = limits.maxRounds - turn.rounds
  if (turn.rounds > 0 && roundsLeft <= warnAtRoundsLeft && !turn.notified.includes('rounds')) {
    notices.push({ about: 'rounds', text: `[Only ${roundsLeft} rounds are left in this turn. Come to an end.]` })
  }
  if (worst >= warnAtFailures && !turn.notified.includes('failures')) {
    const text = `[The same call has failed ${worst} times in the same way. Try something else or say that it fails.]`
    notices.push({ about: 'failures', text })
  }
  return notices
}

function finalText(turn: TurnState): string {
  if (turn.text.trim()) return turn.text
  if (turn.stopReason === 'refusal') return 'The model declined to answer this.'
  if (turn.stopReason === 'max_tokens') return 'The reply reached its length limit before any text came.'
  return 'The model gave an empty reply.'
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
