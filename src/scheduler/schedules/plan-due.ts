import { parseCronExpression } from '../../base/cron-expression.ts'
import type { Schedule } from '../../tools/schedules/schedules.ts'

/** Later than this after its time, a run is late. */
export const punctualMs = 60_000
/** Of all that was missed so many are made up for, the newest ones. */
const mostMadeUp = 10
/** So many are written down at all, the newest ones. */
const mostWritten = 50

/** What becomes of a schedule at one moment. */
export interface DuePlan {
  /** The times whose runs begin now, oldest first. */
  begins: number[]
  /** Times that passed without a run. */
  missed: number[]
  /** When it is due again; null where it never is. */
  next: number | null
}

/**
 * What has come due of a schedule, by its policy. What is due at this moment begins whatever the policy is: that speaks
 * of times at which Familiar was not running, or the machine slept.
 */
export function planDue(
  schedule: Pick<Schedule, 'kind' | 'expression' | 'timeZone' | 'catchUp'>,
  dueAt: number,
  now: number,
): DuePlan {
  const passed = passedTimes(schedule, dueAt, now)
  const [newest] = passed
  const isPunctual = newest !== undefined && now - newest <= punctualMs
  const count = { latest: 1, all: mostMadeUp, none: isPunctual ? 1 : 0 }[schedule.catchUp]
  return {
    begins: passed.slice(0, count).reverse(),
    missed: passed.slice(count),
    next: nextTime(schedule, now),
  }
}

/** The first time after this one; null where none comes. */
function nextTime(
  { kind, expression, timeZone }: Pick<Schedule, 'kind' | 'expression' | 'timeZone'>,
  after: number,
): number | null {
  if (kind === 'once') return null
  const cron = parseCronExpression(expression, timeZone)
  return (cron.ok ? cron.value.next(after) : undefined) ?? null
}

/** Newest first. */
function passedTimes(
  { kind, expression, timeZone }: Pick<Schedule, 'kind' | 'expression' | 'timeZone'>,
  dueAt: number,
  now: number,
): number[] {
  if (dueAt > now) return []
  if (kind === 'once') return [dueAt]
  const cron = parseCronExpression(expression, timeZone)
  return cron.ok ? cron.value.between(dueAt, now, mostWritten) : []
}
