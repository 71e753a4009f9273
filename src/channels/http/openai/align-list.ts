import { contentHash, type ListedExchange, withoutSpaces } from './client-list.ts'
import type { PastTurn } from './past-turns.ts'

export interface Alignment {
  /** So many exchanges at the front of the client's list are turns of the session. */
  agreed: number
  /** So many turns of the session come before where the list goes on. */
  through: number
}

/**
 * Where a client's list and a session agree. A list may begin in the middle of the session, for clients drop what does
 * not fit their window; most do not, so of equally long agreements the earliest counts.
 */
export function alignList(turns: readonly PastTurn[], past: readonly ListedExchange[]): Alignment {
  let best: Alignment = { agreed: 0, through: 0 }
  for (let start = 0; start < turns.length && turns.length - start > best.agreed; start += 1) {
    let agreed = 0
    while (agreed < past.length && isSame(turns[start + agreed], past[agreed])) agreed += 1
    if (agreed > best.agreed) best = { agreed, through: start + agreed }
  }
  return best
}

export function isSameSaid(turn: PastTurn | undefined, exchange: ListedExchange): boolean {
  return turn?.said === contentHash(exchange.said)
}

function isSame(turn: PastTurn | undefined, exchange: ListedExchange | undefined): boolean {
  if (!turn || !exchange || turn.outcome === null || !isSameSaid(turn, exchange)) return false
  const told = withoutSpaces(exchange.answers.join(' '))
  const last = withoutSpaces(exchange.answers.at(-1) ?? '')
  const answer = withoutSpaces(turn.answer)
  // A stream holds what was said between the calls as well; whoever waits for the whole is told the end of it.
  return told === answer || last === answer || (answer !== '' && told.endsWith(answer) && startsSame(turn, told))
}

function startsSame(turn: PastTurn, told: string): boolean {
  return told.startsWith(withoutSpaces(turn.spoken.find((text) => text.trim() !== '') ?? ''))
}
