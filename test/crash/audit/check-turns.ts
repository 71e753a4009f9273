import type { LoggedEvent } from '../../../src/agent/sessions/session-event.ts'
import { isOwnWords } from '../../../src/security/approvals.ts'
import { type Evidence, rowsOf } from './evidence.ts'
import { ofType, type Recorded, type RecordedTurn, turnsOf } from './recorded.ts'

/** Every message has one turn, and every turn begins once, ends once and answers what it was asked. */
export function checkTurns(evidence: Evidence, recorded: Recorded): string[] {
  const turns = turnsOf(recorded)
  return [
    ...turns.flatMap((turn) => checkTurn(evidence, recorded, turn)),
    ...checkOneTurnEach(recorded, turns),
    ...checkQuestions(recorded),
  ]
}

function checkTurn(evidence: Evidence, recorded: Recorded, turn: RecordedTurn): string[] {
  const violations: string[] = []
  const started = ofType(turn.events, 'turn_started').length
  const ends = ofType(turn.events, 'turn_ended')
  const end = ends[0]
  if (started !== 1) violations.push(`double turn: ${turn.id} started ${started} times`)
  if (ends.length > 1) violations.push(`double turn: ${turn.id} ended ${ends.length} times`)
  if (!end) return evidence.settled ? [...violations, `unfinished turn: ${turn.id}`] : violations
  if (turn.events.at(-1) !== end) violations.push(`double turn: ${turn.id} went on after its end`)
  if (end.outcome !== 'completed' && end.outcome !== 'question') {
    violations.push(`failed turn: ${turn.id} ended as ${end.outcome}: ${end.text}`)
  }
  const unanswered = tokensOf(evidence, recorded, turn).filter((token) => !end.text.includes(token))
  for (const token of unanswered) violations.push(`unanswered message: the reply of ${turn.id} does not name ${token}`)
  return violations
}

function tokensOf(evidence: Evidence, recorded: Recorded, turn: RecordedTurn): string[] {
  const ids = new Set(ofType(turn.events, 'message_received').map((event) => event.messageId))
  const own = recorded.inbox.filter((row) => ids.has(row.id))
  return evidence.messages.filter((message) => rowsOf(own, message).length > 0).map(({ token }) => token)
}

function checkOneTurnEach(recorded: Recorded, turns: RecordedTurn[]): string[] {
  const claims = turns.flatMap((turn) =>
    ofType(turn.events, 'turn_started').flatMap((event) => event.messageIds.map((id) => ({ id, turnId: turn.id }))),
  )
  const receipts = turns.flatMap((turn) => ofType(turn.events, 'message_received').map((event) => event.messageId))
  return recorded.inbox.flatMap((row) => {
    const own = claims.filter(({ id }) => id === row.id).map(({ turnId }) => turnId)
    const received = receipts.filter((id) => id === row.id).length
    const violations: string[] = []
    if (own.length > 1) violations.push(`double turn: message ${row.key} is in the turns ${own.join(' and ')}`)
    if (received !== own.length) violations.push(`torn turn: message ${row.key} was received ${received} times`)
    if ((own[0] ?? null) !== row.turn_id) {
      violations.push(`torn turn: message ${row.key} is of ${row.turn_id} in the inbox and of ${own[0]} in the log`)
    }
    const ended = turns.some((turn) => turn.id === row.turn_id && ofType(turn.events, 'turn_ended').length > 0)
    if (ended !== (row.state === 'done')) violations.push(`torn turn: message ${row.key} is ${row.state}`)
    return violations
  })
}

/** A question stays open until the next turn of its session with a user message; that turn receives it. */
function checkQuestions({ events }: Recorded): string[] {
  return [...events].flatMap(([sessionId, own]) => {
    let open: string[] = []
    return own.flatMap((event) => {
      if (event.type === 'turn_ended' && event.question !== null) open.push(event.question)
      if (event.type !== 'turn_started' || !isOfUser(own, event.turnId)) return []
      const forgotten = open.filter((question) => !event.context.includes(question))
      open = []
      return forgotten.map(
        (question) => `forgotten question: session ${sessionId} was asked ${JSON.stringify(question)}`,
      )
    })
  })
}

/** A program's message leaves the question to the user. */
function isOfUser(events: readonly LoggedEvent[], turnId: string | null): boolean {
  return ofType(events, 'message_received').every((message) => message.turnId !== turnId || isOwnWords(message))
}
