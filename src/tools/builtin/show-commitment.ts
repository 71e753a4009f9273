import { type Commitment, commitmentBeginning } from '../../memory/commitments.ts'
import { formatDate, type ShownMemory } from './memory-text.ts'

/** With the day on which it is due where the user lives, and whether that has passed. */
export function showCommitment(commitment: Commitment, timeZone: string): ShownMemory {
  const { id, who, toWhom, what, deadline, state, createdAt, label } = commitment
  const text = `${commitmentBeginning({ who, to_whom: toWhom })}${what}`
  return { id, kind: 'commitment', label, at: createdAt, text, due: dueOf(state, deadline, timeZone) }
}

function dueOf(state: Commitment['state'], deadline: number | null, timeZone: string): string {
  if (state === 'done' || state === 'cancelled') return state
  if (deadline === null) return 'open'
  return `${state === 'expired' ? 'overdue since' : 'due'} ${formatDate(deadline, timeZone)}`
}
