import { parseCronExpression } from '../../base/cron-expression.ts'
import { toStorableText } from '../../base/text.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Schedule, SchedulePreview, ScheduleRequest, ScheduleTime } from '../../tools/schedules/schedules.ts'
import { readMoment } from './read-moment.ts'

const longestMessage = 20_000
const longestName = 100
const shownTimes = 5
const interval = /^(\d{1,4}) ?(m|h|mins?|minutes?|hrs?|hours?)$/

/** A request as it will be kept. What does not make sense is a `bad_request` that says why. */
export function draftSchedule(
  request: ScheduleRequest,
  place: { id: string; channel: string; contact: string; now: number; timeZone: string },
): Schedule {
  const { now } = place
  const timeZone = checkedZone(request.timeZone ?? place.timeZone)
  const time = readTime(request.time, now, timeZone)
  const message = time.kind === 'heartbeat' ? '' : toStorableText(request.message).trim()
  if (message === '' && time.kind !== 'heartbeat') throw new FamiliarError('bad_request', 'The message is empty.')
  if (message.length > longestMessage) {
    throw new FamiliarError('payload_too_large', `A scheduled message has at most ${longestMessage} characters.`)
  }
  return {
    id: place.id,
    userId: request.userId,
    name: nameOf(request.name, time.kind === 'heartbeat' ? 'Heartbeat' : message),
    ...time,
    timeZone,
    message,
    channel: place.channel,
    contact: place.contact,
    catchUp: request.catchUp ?? 'latest',
    author: request.author,
    trust: request.trust,
    state: 'active',
    createdAt: now,
  }
}

/** When it would come, for somebody who is still thinking about it. */
export function previewSchedule(time: ScheduleTime, place: { now: number; timeZone: string }): SchedulePreview {
  const timeZone = checkedZone(place.timeZone)
  const { kind, expression, nextAt } = readTime(time, place.now, timeZone)
  const cron = kind === 'once' ? undefined : parseCronExpression(expression, timeZone)
  const times = [nextAt]
  while (cron?.ok && times.length < shownTimes) {
    const next = cron.value.next(times.at(-1) ?? nextAt)
    if (next === undefined) break
    times.push(next)
  }
  return { kind, expression, timeZone, times }
}

type Time = Pick<Schedule, 'kind' | 'expression'> & { nextAt: number }

function readTime(time: ScheduleTime, now: number, timeZone: string): Time {
  if ('at' in time) {
    const moment = readMoment(time.at, now, timeZone)
    if (!moment.ok) throw new FamiliarError('bad_request', moment.message)
    return { kind: 'once', expression: new Date(moment.at).toISOString(), nextAt: moment.at }
  }
  if ('cron' in time) return { kind: 'cron', ...readCron(time.cron, now, timeZone) }
  return { kind: 'heartbeat', ...readCron(`*/${minutesOf(time.every)}`, now, timeZone) }
}

function readCron(text: string, now: number, timeZone: string): Omit<Time, 'kind'> {
  const cron = parseCronExpression(text, timeZone)
  if (!cron.ok) throw new FamiliarError('bad_request', cron.message)
  const nextAt = cron.value.next(now)
  if (nextAt === undefined) throw new FamiliarError('bad_request', 'That schedule never comes.')
  return { expression: cron.value.fields, nextAt }
}

function minutesOf(every: string): number {
  const [, count, unit = ''] = interval.exec(every.trim().toLowerCase()) ?? []
  if (count === undefined) {
    throw new FamiliarError('bad_request', `${JSON.stringify(every)} is no interval. Write it like 30m or 2h.`)
  }
  return Number(count) * (unit.startsWith('h') ? 60 : 1)
}

function checkedZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions().timeZone
  } catch {
    const shown = JSON.stringify(timeZone.slice(0, 80).toWellFormed())
    throw new FamiliarError('bad_request', `${shown} is no time zone. Write it like Europe/Malta.`)
  }
}

/** One line. Without a name of its own, the beginning of what it says. */
function nameOf(name: string | undefined, message: string): string {
  const line = toStorableText(name?.trim() || message)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length <= longestName ? line : `${line.slice(0, longestName - 1).toWellFormed()}…`
}
