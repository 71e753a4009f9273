import type { TurnState } from '../sessions/projection.ts'

export interface Limits {
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
  if (turn.question) return { do: 'end', outcome: 'question', text: withQuestion(turn.text, turn.question) }
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

/** The user always reads the question that their next words will be taken as the answer to. */
function withQuestion(text: string, question: string): string {
  return text.includes(question) ? text : [text, question].filter(Boolean).join('\n\n')
}
