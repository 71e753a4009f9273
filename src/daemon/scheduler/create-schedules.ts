import type { Conversations } from '../../agent/conversations.ts'
import { addDays, type CalendarDay, dayOf, endOfDay, parseDay } from '../../base/clock.ts'
import { parseCronExpression } from '../../base/cron-expression.ts'
import { type Ids, sha256 } from '../../base/ids.ts'
import { toStorableText } from '../../base/text.ts'
import { isSessionId } from '../../http/inbound-message.ts'
import { readDates } from '../../memory/dates.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { isWorkChannel } from '../../protocol/messages.ts'
import type { Schedule, SchedulePreview } from '../../protocol/schedules.ts'
import type { ScheduleRequest, Schedules, ScheduleTime } from '../../tools/builtin/schedule-tools.ts'
import { createDeliverRun, type DeliveryNeeds, notRunning, planDue, punctualMs } from './deliver-run.ts'
import { createScheduleRecords } from './schedule-records.ts'
import { createTimedSteps, type TimedSteps } from './trigger-runs.ts'

const retryMs = 60_000

/** `start` recovers from a crash and makes up for missed runs: after the conversations have recovered. */
export type RunningSchedules = Schedules & Pick<TimedSteps, 'start' | 'look' | 'close'>

/**
 * Scheduled messages. The next time of each is stored before it comes, and every run is recorded before it is sent. One
 * timer for all of them; without schedules there is none.
 */
export function createSchedules(
  needs: DeliveryNeeds & {
    conversations: Pick<Conversations, 'submit' | 'findSession'>
    ids: Ids
    timeZone: string
  },
): RunningSchedules {
  const { conversations, clock, ids, logger, onStep = () => undefined } = needs
  const records = createScheduleRecords(needs)
  const deliverRun = createDeliverRun({ ...needs, records })
  const { isRunning, look, start, close } = createTimedSteps({
    clock,
    logger,
    problem: 'could not read or write schedules; will retry',
    /** Records due runs, sends recorded ones, and waits for the next. */
    async step() {
      await takeBack()
      await writeDue()
      const isDone = await deliverBegun()
      const { schedules, nextAt } = await records.due(clock.now())
      const next = schedules.length > 0 ? clock.now() : nextAt
      return isDone ? next : Math.min(next ?? Number.POSITIVE_INFINITY, clock.now() + retryMs)
    },
  })

  /** A small clock correction changes nothing; a larger one has delayed the next times. */
  async function takeBack(): Promise<void> {
    const now = clock.now()
    for (const schedule of await records.ahead(now + punctualMs)) {
      const plan = planDue(schedule, schedule.nextAt, now)
      if (plan.next === null || plan.next >= schedule.nextAt) continue
      if (!(await records.moveOn(schedule, plan, notRunning))) continue
      logger.warn('the clock went back, so the next time of a schedule was recomputed', { schedule: schedule.id })
    }
  }

  async function writeDue(): Promise<void> {
    const { schedules } = await records.due(clock.now())
    for (const schedule of schedules) {
      const plan = planDue(schedule, schedule.nextAt, clock.now())
      if (!(await records.moveOn(schedule, plan, notRunning))) continue
      if (plan.begins.length > 0) onStep('run_written')
      if (plan.missed.length > 0) {
        const counts = { missed: plan.missed.length, made_up: plan.begins.length }
        logger.warn('scheduled messages were missed', { schedule: schedule.id, ...counts })
      }
    }
  }

  /** False if something has to wait. */
  async function deliverBegun(): Promise<boolean> {
    let isDone = true
    for (const { schedule, run } of await records.begun()) {
      if (!isRunning()) return true
      if (!(await deliverRun(schedule, run))) isDone = false
    }
    return isDone
  }

  async function own(userId: string, id: string): Promise<Schedule> {
    const schedule = await records.find(userId, id)
    if (!schedule) throw new FamiliarError('not_found', `There is no schedule ${id.slice(0, 80).toWellFormed()}.`)
    return schedule
  }

  /** The target of the messages. Background sessions cannot be targets. */
  async function placeOf({ userId, session: named }: ScheduleRequest): Promise<{ channel: string; session: string }> {
    // After `/new` a chat has no active session until the next message: its target is known from the archived one.
    const session = await conversations.findSession(userId, named, { includeArchived: true })
    if (session && !isWorkChannel(session.channel)) return { channel: session.channel, session: session.contact }
    if (session || isSessionId(named)) throw new FamiliarError('not_found', `There is no session ${named}`)
    return { channel: 'http', session: named.trim() }
  }

  return {
    preview: (time, timeZone = needs.timeZone) => previewSchedule(time, { now: clock.now(), timeZone }),
    async add(request) {
      const { userId, key } = request
      const id = key === undefined ? ids.next() : sha256(`${userId}:${key}`).slice(0, 32)
      const place = await placeOf(request)
      const draft = draftSchedule(request, { id, ...place, now: clock.now(), timeZone: needs.timeZone })
      const schedule = await records.insert(draft)
      await look()
      return schedule
    },
    list: (userId, { all = false } = {}) => records.list(userId, { all }),
    async show(userId, id) {
      const schedule = await own(userId, id)
      return { schedule, runs: await records.runs(schedule.id) }
    },
    async cancel(userId, id) {
      await own(userId, id)
      await records.cancel(userId, id)
      const schedule = await own(userId, id)
      if (schedule.state === 'done') throw new FamiliarError('conflict', 'This schedule has already finished.')
      await look()
      return schedule
    },
    async run(userId, id) {
      const schedule = await own(userId, id)
      if (schedule.state === 'cancelled') throw new FamiliarError('conflict', 'It was cancelled.')
      const dueAt = clock.now()
      await records.begin(schedule.id, dueAt)
      onStep('run_written')
      await look()
      const run = (await records.runs(schedule.id)).find((one) => one.dueAt === dueAt)
      if (!run) throw new FamiliarError('internal', `The run of schedule ${id} does not exist`)
      return run
    },
    start,
    look,
    close,
  }
}

type ReadMoment = { ok: true; at: number } | { ok: false; message: string }

interface TimeOfDay {
  hour: number
  minute: number
}

const longest = 200
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const unitMs: Readonly<Record<string, number>> = { m: minuteMs, h: 60 * minuteMs, d: dayMs, w: 7 * dayMs }
/** For a day without a time: late enough not to wake anyone. */
const usualTime: TimeOfDay = { hour: 9, minute: 0 }
const partsOfDay: Readonly<Record<string, TimeOfDay>> = {
  morning: usualTime,
  afternoon: { hour: 15, minute: 0 },
  evening: { hour: 19, minute: 0 },
  night: { hour: 20, minute: 0 },
}

const isoTime = /^(\d{4}-\d{2}-\d{2})[t ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(z|[+-]\d{2}:?\d{2})?$/
const fromNow = /^in (an?|\d{1,4}) ?(m|h|d|w|mins?|minutes?|hrs?|hours?|days?|weeks?)$/
const clockTime =
  /(?:^| )(?:at (\d{1,2})|(?:at )?(\d{1,2}):(\d{2})|(?:at )?(\d{1,2})(?= ?[ap]m))(?: ?([ap]m))?(?![\w:])/
const noon = /(?:^| )(?:at )?noon$/
const weekday = '(?:mon|tues|wednes|thurs|fri|satur|sun)day'
const month = '(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*'
const dayNumber = '\\d{1,2}(?:st|nd|rd|th)?'
const days = [
  'today|tonight|tomorrow|this (?:morning|afternoon|evening)',
  `(?:(?:next|this|coming) )?${weekday}`,
  `(?:${weekday} )?(?:the )?${dayNumber} (?:of )?${month}(?: \\d{4})?`,
  `(?:${weekday} )?${month} (?:the )?${dayNumber}(?: \\d{4})?`,
  '\\d{4}-\\d{2}-\\d{2}',
]
const namedDay = new RegExp(`^(?:on )?(?:${days.join('|')})(?: (?:morning|afternoon|evening|night))?$`)
const weekdayAlone = new RegExp(`^(?:on )?(${weekday})(?= |$)(?!.*\\d)`)
const forms = 'Write it like 2026-12-01T09:00, "tomorrow at 9:00", "next friday 18:30" or "in 20 minutes".'

/**
 * The moment that a text means in that time zone, at `now`: a time in ISO 8601, a number of minutes, hours, days or
 * weeks from now, or a day in words with or without a time. A skipped time is the end of the gap; of a repeated one the
 * first is meant. A past time, and any word that is not understood, is an error: a reminder that silently comes at
 * another time is worse than none.
 */
export function readMoment(text: string, now: number, timeZone: string): ReadMoment {
  const said = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s,]+/g, ' ')
  const at =
    said.length > longest
      ? undefined
      : (readIso(said, timeZone) ?? readFromNow(said, now) ?? readWords(said, now, timeZone))
  if (at === undefined) return { ok: false, message: `${quoted(text)} is not a valid time. ${forms}` }
  if (at <= now) return { ok: false, message: `${quoted(text)} is in the past: it was ${new Date(at).toISOString()}.` }
  return { ok: true, at }
}

function readIso(said: string, timeZone: string): number | undefined {
  const [, date = '', hour, minute, second = '0', offset] = isoTime.exec(said) ?? []
  const day = parseDay(date)
  const time = timeOf(Number(hour), Number(minute))
  const seconds = Number(second)
  if (!day || !time || seconds > 59) return undefined
  if (offset !== undefined) {
    const aheadMs = offsetOf(offset)
    if (aheadMs === undefined) return undefined
    return Date.UTC(day.year, day.month - 1, day.day, time.hour, time.minute, seconds) - aheadMs
  }
  const moment = momentOn(day, time, timeZone)
  return moment === undefined ? undefined : moment + seconds * 1_000
}

/** Milliseconds ahead of UTC; undefined if no place has it. */
function offsetOf(text: string): number | undefined {
  if (text === 'z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(-2))
  if (hours > 14 || minutes > 59) return undefined
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * minuteMs
}

function readFromNow(said: string, now: number): number | undefined {
  const [, count = '', unit = ''] = fromNow.exec(said) ?? []
  const length = unitMs[unit.slice(0, 1)]
  return length === undefined ? undefined : now + (count.startsWith('a') ? 1 : Number(count)) * length
}

function readWords(said: string, now: number, timeZone: string): number | undefined {
  const clock = clockTime.exec(said)
  const rest = said
    .replace(clock ? clockTime : noon, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
  const isNoon = !clock && noon.test(said)
  const part = partsOfDay[/(?:morning|afternoon|evening|night)$/.exec(rest)?.[0] ?? '']
  const time = clock ? readClock(clock, part) : isNoon ? { hour: 12, minute: 0 } : (part ?? usualTime)
  if (!time) return undefined
  if (rest === '') return clock || isNoon ? nextAt(time, now, timeZone) : undefined
  return namedDay.test(rest) ? onNamedDay(rest, time, now, timeZone) : undefined
}

/** "at 8" in the evening is 20:00. Undefined for an invalid time. */
function readClock(clock: RegExpExecArray, part: TimeOfDay | undefined): TimeOfDay | undefined {
  const [, plain, exact, minute = '0', short, half] = clock
  const hour = Number(plain ?? exact ?? short)
  if (half !== undefined && (hour < 1 || hour > 12)) return undefined
  if (half !== undefined) return timeOf((hour % 12) + (half === 'pm' ? 12 : 0), Number(minute))
  const isLater = part !== undefined && part.hour > 12 && hour < 12
  return timeOf(isLater ? hour + 12 : hour, Number(minute))
}

function timeOf(hour: number, minute: number): TimeOfDay | undefined {
  return hour <= 23 && minute <= 59 ? { hour, minute } : undefined
}

/** A time alone means its next occurrence. */
function nextAt(time: TimeOfDay, now: number, timeZone: string): number | undefined {
  const today = dayOf(now, timeZone)
  const moment = momentOn(today, time, timeZone)
  return moment !== undefined && moment > now ? moment : momentOn(addDays(today, 1), time, timeZone)
}

function onNamedDay(rest: string, time: TimeOfDay, now: number, timeZone: string): number | undefined {
  // A weekday alone is in the future; in memories it is in the past.
  const isWeekday = weekdayAlone.test(rest)
  const range = readDates(isWeekday ? rest.replace(weekdayAlone, 'this $1') : rest, now, timeZone)
  // A month is not a moment: 30 February would be read as one. A day has at most 25 hours.
  if (!range || range.until - range.from > dayMs + 2 * 60 * minuteMs) return undefined
  const day = dayOf(range.from, timeZone)
  const moment = momentOn(day, time, timeZone)
  const isOver = isWeekday && moment !== undefined && moment <= now
  return isOver ? momentOn(addDays(day, 7), time, timeZone) : moment
}

/** The cron library handles clock changes. */
function momentOn(day: CalendarDay, { hour, minute }: TimeOfDay, timeZone: string): number | undefined {
  const cron = parseCronExpression(`${minute} ${hour} ${day.day} ${day.month} *`, timeZone)
  return cron.ok ? cron.value.next(endOfDay(addDays(day, -1), timeZone)) : undefined
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 80).toWellFormed())
}

const maxMessageLength = 20_000
const maxNameLength = 100
const shownTimes = 5
const interval = /^(\d{1,4}) ?(m|h|mins?|minutes?|hrs?|hours?)$/

/** Validates a request. An invalid one is a `bad_request` with the reason. */
function draftSchedule(
  request: ScheduleRequest,
  place: { id: string; channel: string; session: string; now: number; timeZone: string },
): Schedule {
  const { now } = place
  const timeZone = checkedZone(request.timeZone ?? place.timeZone)
  const time = readTime(request.time, now, timeZone)
  const message = time.kind === 'heartbeat' ? '' : toStorableText(request.message).trim()
  if (message === '' && time.kind !== 'heartbeat') throw new FamiliarError('bad_request', 'The message is empty.')
  if (message.length > maxMessageLength) {
    throw new FamiliarError('payload_too_large', `A scheduled message may have at most ${maxMessageLength} characters.`)
  }
  return {
    id: place.id,
    userId: request.userId,
    name: nameOf(request.name, time.kind === 'heartbeat' ? 'Heartbeat' : message),
    ...time,
    timeZone,
    message,
    channel: place.channel,
    session: place.session,
    catchUp: request.catchUp ?? 'latest',
    author: request.author,
    trust: request.trust,
    state: 'active',
    createdAt: now,
  }
}

/** The times of a schedule before it is created. */
function previewSchedule(time: ScheduleTime, place: { now: number; timeZone: string }): SchedulePreview {
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
  if (nextAt === undefined) throw new FamiliarError('bad_request', 'That schedule never runs.')
  return { expression: cron.value.fields, nextAt }
}

function minutesOf(every: string): number {
  const [, count, unit = ''] = interval.exec(every.trim().toLowerCase()) ?? []
  if (count === undefined) {
    throw new FamiliarError('bad_request', `${JSON.stringify(every)} is not a valid interval. Write it like 30m or 2h.`)
  }
  return Number(count) * (unit.startsWith('h') ? 60 : 1)
}

function checkedZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions().timeZone
  } catch {
    throw new FamiliarError('bad_request', `${quoted(timeZone)} is not a valid time zone. Write it like Europe/Malta.`)
  }
}

/** One line. Default: the beginning of the message. */
function nameOf(name: string | undefined, message: string): string {
  const line = toStorableText(name?.trim() || message)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length <= maxNameLength ? line : `${line.slice(0, maxNameLength - 1).toWellFormed()}…`
}
