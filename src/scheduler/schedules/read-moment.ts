import { addDays, type CalendarDay, dayOf, endOfDay, parseDay } from '../../base/calendar.ts'
import { parseCronExpression } from '../../base/cron-expression.ts'
import { readDates } from '../../memory/recall/read-dates.ts'

type ReadMoment = { ok: true; at: number } | { ok: false; message: string }

interface TimeOfDay {
  hour: number
  minute: number
}

const longest = 200
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const unitMs: Readonly<Record<string, number>> = { m: minuteMs, h: 60 * minuteMs, d: dayMs, w: 7 * dayMs }
/** Where a day is named and no time: late enough for nobody to be woken. */
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
 * The moment that a text means on the clock of that zone, at `now`: a time in ISO 8601, so many minutes, hours, days or
 * weeks from now, or a day in words with or without a time of day. A moment that the clock leaves out is the end of the
 * gap; of one that comes twice the first is meant. What has passed, and any word that is not understood, is an error:
 * a reminder that silently comes at another time is worse than none.
 */
export function readMoment(text: string, now: number, timeZone: string): ReadMoment {
  const said = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s,]+/g, ' ')
  const at = said.length > longest ? undefined : read(said, now, timeZone)
  if (at === undefined) return { ok: false, message: `${quoted(text)} is no time that can be read. ${forms}` }
  if (at <= now) return { ok: false, message: `${quoted(text)} has passed: it was ${new Date(at).toISOString()}.` }
  return { ok: true, at }
}

function read(said: string, now: number, timeZone: string): number | undefined {
  return readIso(said, timeZone) ?? readFromNow(said, now) ?? readWords(said, now, timeZone)
}

function readIso(said: string, timeZone: string): number | undefined {
  const [, date = '', hour, minute, second = '0', offset] = isoTime.exec(said) ?? []
  const day = parseDay(date)
  const time = timeOf(Number(hour), Number(minute))
  const seconds = Number(second)
  if (!day || !time || seconds > 59) return undefined
  const aheadMs = offset === undefined ? 0 : offsetOf(offset)
  if (aheadMs === undefined) return undefined
  if (offset !== undefined) {
    return Date.UTC(day.year, day.month - 1, day.day, time.hour, time.minute, seconds) - aheadMs
  }
  const moment = momentOn(day, time, timeZone)
  return moment === undefined ? undefined : moment + seconds * 1_000
}

/** Milliseconds ahead of UTC; undefined for what no place has. */
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
  const part = partOfDay(rest)
  const time = clock ? readClock(clock, part) : isNoon ? { hour: 12, minute: 0 } : (part ?? usualTime)
  if (!time) return undefined
  if (rest === '') return clock || isNoon ? nextAt(time, now, timeZone) : undefined
  return namedDay.test(rest) ? onNamedDay(rest, time, now, timeZone) : undefined
}

function partOfDay(rest: string): TimeOfDay | undefined {
  return partsOfDay[/(?:morning|afternoon|evening|night)$/.exec(rest)?.[0] ?? '']
}

/** "at 8" in the evening is 20:00. Undefined for what no clock shows. */
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

/** A time alone is the next one that comes. */
function nextAt(time: TimeOfDay, now: number, timeZone: string): number | undefined {
  const today = dayOf(now, timeZone)
  const moment = momentOn(today, time, timeZone)
  return moment !== undefined && moment > now ? moment : momentOn(addDays(today, 1), time, timeZone)
}

function onNamedDay(rest: string, time: TimeOfDay, now: number, timeZone: string): number | undefined {
  // A weekday alone is one to come, where memories mean one that was.
  const isWeekday = weekdayAlone.test(rest)
  const range = readDates(isWeekday ? rest.replace(weekdayAlone, 'this $1') : rest, now, timeZone)
  // A month is no moment: 30 February would be read as one. A day has 25 hours at most.
  if (!range || range.until - range.from > dayMs + 2 * 60 * minuteMs) return undefined
  const day = dayOf(range.from, timeZone)
  const moment = momentOn(day, time, timeZone)
  const isOver = isWeekday && moment !== undefined && moment <= now
  return isOver ? momentOn(addDays(day, 7), time, timeZone) : moment
}

/** Cron knows what becomes of a time of day where the clocks change. */
function momentOn(day: CalendarDay, { hour, minute }: TimeOfDay, timeZone: string): number | undefined {
  const cron = parseCronExpression(`${minute} ${hour} ${day.day} ${day.month} *`, timeZone)
  return cron.ok ? cron.value.next(endOfDay(addDays(day, -1), timeZone)) : undefined
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 80).toWellFormed())
}
