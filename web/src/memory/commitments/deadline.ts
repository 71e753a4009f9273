import type { CommitmentReply } from '../../../../src/protocol/fact-api.ts'
import { dayKey } from '../times.ts'

export type Due = 'overdue' | 'today' | 'soon' | 'later' | 'none' | 'closed'

const dayMs = 24 * 60 * 60 * 1_000
const soonDays = 7

/** How a commitment stands against the clock. Past its deadline an open one reads as `expired`. */
export function dueOf({ state, deadline }: Pick<CommitmentReply, 'state' | 'deadline'>, now: Date): Due {
  if (state === 'done' || state === 'cancelled') return 'closed'
  if (deadline === null) return 'none'
  const at = Date.parse(deadline)
  if (state === 'expired' || at < now.getTime()) return 'overdue'
  if (dayKey(deadline) === dayKey(now)) return 'today'
  return at - now.getTime() < soonDays * dayMs ? 'soon' : 'later'
}

export const dueNames: Record<Due, string> = {
  overdue: 'Overdue',
  today: 'Due today',
  soon: 'Due soon',
  later: 'Later',
  none: 'No deadline',
  closed: 'Closed',
}

/** In this order, the empty ones left out. */
export function byDue(
  commitments: readonly CommitmentReply[],
  now: Date,
): { due: Due; commitments: CommitmentReply[] }[] {
  const groups = Map.groupBy(commitments, (commitment) => dueOf(commitment, now))
  return (Object.keys(dueNames) as Due[]).flatMap((due) => {
    const own = groups.get(due)
    return own ? [{ due, commitments: due === 'none' || due === 'closed' ? own : own.toSorted(earliestFirst) }] : []
  })
}

function earliestFirst(a: CommitmentReply, b: CommitmentReply): number {
  return Date.parse(a.deadline ?? '') - Date.parse(b.deadline ?? '')
}
