import type { Memory } from '../memory.ts'
import type { DateRange } from './read-dates.ts'

const dayMs = 24 * 60 * 60 * 1_000
/** People tell of a day within a week of it. */
export const toldWithinMs = 7 * dayMs
const longSpanMs = 40 * dayMs

/** How well a memory fits the days asked about: it speaks of them, was told in them, or soon after. */
export function matchDates({ happenedFrom, happenedUntil, createdAt }: Memory, { from, until }: DateRange): number {
  // A whole year fits many memories and so says little about each.
  const most = until - from > longSpanMs ? 0.3 : 1
  if (happenedFrom !== null && happenedUntil !== null && happenedFrom <= until && happenedUntil >= from) return most
  if (createdAt >= from && createdAt <= until) return most * 0.8
  return createdAt > until && createdAt - until <= toldWithinMs ? most * 0.5 : 0
}
