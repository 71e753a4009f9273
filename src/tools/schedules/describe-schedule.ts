import { formatMoment } from './format-moment.ts'
import type { Schedule, ScheduleRun } from './schedules.ts'

const longestShown = 500

/** One schedule in one line for a model. What is not to be trusted stands in quotes and cannot end them. */
export function describeSchedule(schedule: Schedule, lastRun: ScheduleRun | null = null): string {
  const { id, name, kind, expression, timeZone, nextAt, state, contact, trust } = schedule
  const comes = nextAt === null ? state : `next ${formatMoment(nextAt, timeZone)}`
  const marks = [
    comes,
    kind === 'once' ? 'once' : `${kind} ${expression}`,
    `to ${JSON.stringify(contact)}`,
    ...(lastRun ? [`last run ${formatMoment(lastRun.dueAt, timeZone)} ${lastRun.state}`] : []),
  ]
  const untrusted = trust === 'untrusted' ? '[untrusted] ' : ''
  const message =
    kind === 'heartbeat' ? '' : ` ${JSON.stringify(schedule.message.slice(0, longestShown).toWellFormed())}`
  return `${id} (${marks.join('; ')}) ${untrusted}${JSON.stringify(name)}${message}`
}
