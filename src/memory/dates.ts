import { addDays, type CalendarDay, dayOf, endOfDay, parseDay, realDay, weekdayOf } from '../base/clock.ts'
import type { Memory } from './memory.ts'

export interface DateRange {
  from: number
  until: number
}

const months = 'january february march april may june july august september october november december'.split(' ')
const weekdays = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')
const numbers = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')

const month = `(${months.join('|')}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)`
const dayNumber = '(\\d{1,2})(?:st|nd|rd|th)?'
const year = '((?:19|20)\\d\\d)'
const count = `(\\d{1,3}|an?|${numbers.slice(1).join('|')}|a few|a couple of)`

interface Form {
  pattern: RegExp
  read(found: string[], today: CalendarDay): Days | undefined
}

interface Days {
  first: CalendarDay
  last: CalendarDay
}

/** The first matching form wins: exact ones come before vague ones. */
const forms: readonly Form[] = [
  form(`${year}-(\\d{2})-(\\d{2})`, ([y, m, d]) => oneDay(Number(y), Number(m), Number(d))),
  form(`${dayNumber}(?: of)? ${month},? ${year}`, ([d, m, y]) => oneDay(Number(y), monthOf(m), Number(d))),
  form(`${month} ${dayNumber},? ${year}`, ([m, d, y]) => oneDay(Number(y), monthOf(m), Number(d))),
  form(`(last|next|this)? ?${month},? ${year}`, ([, m, y]) => wholeMonth(Number(y), monthOf(m))),
  form(`${dayNumber}(?: of)? ${month}`, ([d, m], today) => nearest(today, monthOf(m), Number(d))),
  form(`${month} ${dayNumber}`, ([m, d], today) => nearest(today, monthOf(m), Number(d))),
  form('day before yesterday', (_, today) => span(addDays(today, -2))),
  form('yesterday|last night', (_, today) => span(addDays(today, -1))),
  form('tomorrow', (_, today) => span(addDays(today, 1))),
  form('today|tonight|this (?:morning|afternoon|evening)', (_, today) => span(today)),
  form(`${count} (day|week|month|year)s? ago`, ([n, unit], today) => ago(today, numberOf(n), unit)),
  form('(last|next|this|past|coming) (week|weekend|month|year)', ([way, unit], today) => relative(today, way, unit)),
  form(`(last|next|coming|this|on|past)? ?(${weekdays.join('|')})`, ([way, name], today) => weekday(today, way, name)),
  // "May" alone is more often a verb than a month.
  form(`(last|next|this|in|since|during|of) ${month}`, ([way, m], today) => namedMonth(today, way, monthOf(m))),
  form(`(january|february|april|june|july|august|september|october|november|december)`, ([m], today) =>
    namedMonth(today, undefined, monthOf(m)),
  ),
  form(year, ([y]) => wholeYear(Number(y))),
]

// A quick check before a dozen patterns are tried: most sentences name no day.
const hasDate = new RegExp(
  `\\b(?:${month}|${year}|${weekdays.join('|')}|yesterday|today|tonight|tomorrow|night|morning|afternoon|evening|ago|week|weekend|month|year)\\b`,
  'i',
)

const dayWords = new Set(
  [...months, ...weekdays, ...numbers].concat(
    `jan feb mar apr jun jul aug sep sept oct nov dec last next past coming couple ago day days week weeks weekend month
    months year years yesterday today tonight tomorrow night morning afternoon evening`.split(/\s+/),
  ),
)

/** True for a lower-case word that only names a day. */
export function isDayWord(word: string): boolean {
  return dayWords.has(word) || /^\d{1,4}(?:st|nd|rd|th)?$/.test(word)
}

/**
 * The days that a text written at that time refers to, from the first to the last millisecond: "yesterday", "on 3 May",
 * "last week". Undefined if there are none.
 */
export function readDates(text: string, at: number, timeZone: string): DateRange | undefined {
  const read = text.slice(0, 2_000)
  if (!hasDate.test(read)) return undefined
  const today = dayOf(at, timeZone)
  for (const { pattern, read: readDays } of forms) {
    const groups = pattern.exec(read)?.slice(1)
    const words = groups?.map((group) => (group ?? '').toLowerCase())
    const days = words && readDays(words, today)
    if (days) return { from: endOfDay(addDays(days.first, -1), timeZone) + 1, until: endOfDay(days.last, timeZone) }
  }
  return undefined
}

function form(pattern: string, read: Form['read']): Form {
  return { pattern: new RegExp(`\\b(?:${pattern})\\b`, 'i'), read }
}

function span(day: CalendarDay, length = 1): Days {
  return { first: day, last: addDays(day, length - 1) }
}

function oneDay(wantedYear: number, wantedMonth: number, day: number): Days | undefined {
  const found = realDay({ year: wantedYear, month: wantedMonth, day })
  return found && span(found)
}

function wholeMonth(wantedYear: number, wantedMonth: number): Days {
  const first = { year: wantedYear, month: wantedMonth, day: 1 }
  const [nextYear, nextMonth] = wantedMonth === 12 ? [wantedYear + 1, 1] : [wantedYear, wantedMonth + 1]
  return { first, last: addDays({ year: nextYear, month: nextMonth, day: 1 }, -1) }
}

/** A day without a year is the nearest such day, in either direction. */
function nearest(today: CalendarDay, wantedMonth: number, day: number): Days | undefined {
  const distance = (wantedMonth - today.month) * 30 + day - today.day
  const wantedYear = distance > 183 ? today.year - 1 : distance < -183 ? today.year + 1 : today.year
  return oneDay(wantedYear, wantedMonth, day)
}

/** A month without a year is the latest one, unless it is the next, or this year's. */
function namedMonth(today: CalendarDay, way: string | undefined, wantedMonth: number): Days {
  if (way === 'next') return wholeMonth(today.year + (wantedMonth <= today.month ? 1 : 0), wantedMonth)
  if (way === 'this') return wholeMonth(today.year, wantedMonth)
  const isPast = way === 'last' ? wantedMonth < today.month : wantedMonth <= today.month
  return wholeMonth(isPast ? today.year : today.year - 1, wantedMonth)
}

function ago(today: CalendarDay, amount: number, unit = 'day'): Days {
  if (unit === 'day') return span(addDays(today, -amount))
  if (unit === 'week') return span(addDays(today, -7 * amount - 3), 7)
  if (unit === 'year') return wholeYear(today.year - amount)
  return monthAround(today, -amount)
}

function relative(today: CalendarDay, way = 'this', unit = 'week'): Days {
  const step = way === 'last' || way === 'past' ? -1 : way === 'this' ? 0 : 1
  if (unit === 'year') return wholeYear(today.year + step)
  if (unit === 'month') return monthAround(today, step)
  const monday = addDays(today, -((weekdayOf(today) + 6) % 7))
  if (unit === 'weekend') return span(addDays(monday, (way === 'coming' ? 0 : 7 * step) + 5), 2)
  return span(addDays(monday, 7 * step), 7)
}

/** The previous one, unless the text refers to the future. */
function weekday(today: CalendarDay, way: string | undefined, name = ''): Days {
  const wanted = weekdays.indexOf(name)
  const back = (weekdayOf(today) - wanted + 7) % 7
  if (way === 'next' || way === 'coming') return span(addDays(today, 7 - back))
  if (way === 'this') return span(addDays(today, (7 - back) % 7))
  return span(addDays(today, -(back === 0 && way === 'last' ? 7 : back)))
}

function wholeYear(wantedYear: number): Days {
  return { first: { year: wantedYear, month: 1, day: 1 }, last: { year: wantedYear, month: 12, day: 31 } }
}

function monthAround(today: CalendarDay, step: number): Days {
  const index = today.year * 12 + today.month - 1 + step
  return wholeMonth(Math.floor(index / 12), (index % 12) + 1)
}

function monthOf(name = ''): number {
  return months.findIndex((full) => full.startsWith(name.slice(0, 3))) + 1
}

function numberOf(word = ''): number {
  if (word === 'a' || word === 'an') return 1
  if (word.startsWith('a ')) return word === 'a few' ? 3 : 2
  const spelled = numbers.indexOf(word)
  return spelled >= 0 ? spelled : Number(word)
}

export const monthWord = '(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}'

const dayOfMonth = '\\d{1,2}(?:st|nd|rd|th)?'

/** The days at the end of a promise: "send the photos by Friday". */
const deadlines: readonly [pattern: string, read: (text: string, today: CalendarDay) => CalendarDay | undefined][] = [
  ['today|tonight', (_, today) => today],
  ['tomorrow', (_, today) => addDays(today, 1)],
  ['the day after tomorrow', (_, today) => addDays(today, 2)],
  [`(?:(?:next|this|coming) )?(?:${weekdays.join('|')})`, readWeekday],
  ['(?:this|next|the) (?:week|weekend|month|year)', readPeriod],
  ['(?:the )?end of (?:the|this|next) (?:week|month|year)', readPeriod],
  ['in (?:\\d{1,2}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?:days?|weeks?|months?)', readSpan],
  [`(?:the )?${dayOfMonth}(?: of)? ${monthWord}(?:,? \\d{4})?`, readDate],
  [`${monthWord} ${dayOfMonth}(?:,? \\d{4})?`, readDate],
  ['the \\d{1,2}(?:st|nd|rd|th)', readDate],
  ['\\d{4}-\\d{2}-\\d{2}', parseDay],
]
const days = deadlines.map(([pattern]) => pattern).join('|')
const atEnd = new RegExp(`(?:^|,? )(?:(by|until|till|before|on|no later than|due(?: on| by)?) )?(${days})[.!]?$`, 'i')
const readCharacters = 400

interface Deadline {
  day: CalendarDay
  /** The text before it. */
  rest: string
  /** It was introduced by "by", "until" or "before". */
  isFirm: boolean
}

/** The deadline at the end of the text. Days without a year lie after `at`. */
export function readDeadline(text: string, at: number, timeZone: string): Deadline | undefined {
  if (text.length > readCharacters) return undefined
  const match = atEnd.exec(text)
  if (!match) return undefined
  const preposition = (match[1] ?? '').toLowerCase()
  const named = (match[2] ?? '').toLowerCase()
  const form = deadlines.find(([pattern]) => new RegExp(`^(?:${pattern})$`).test(named))
  const day = form?.[1](named, dayOf(at, timeZone))
  if (!day) return undefined
  return {
    day: preposition === 'before' ? addDays(day, -1) : day,
    rest: text.slice(0, match.index).trim(),
    isFirm: preposition !== '' && preposition !== 'on',
  }
}

/** The next one of that name; if today is that day, a week from now. */
function readWeekday(text: string, today: CalendarDay): CalendarDay {
  const wanted = weekdays.indexOf(text.split(' ').at(-1) ?? '')
  return addDays(today, (wanted - weekdayOf(today) + 7) % 7 || 7)
}

function readPeriod(text: string, today: CalendarDay): CalendarDay {
  const later = text.includes('next ') ? 1 : 0
  const sunday = addDays(today, (7 - weekdayOf(today)) % 7)
  if (text.endsWith('week') || text.endsWith('weekend')) return addDays(sunday, later * 7)
  if (text.endsWith('month')) return addDays({ ...today, month: today.month + 1 + later, day: 1 }, -1)
  return { year: today.year + later, month: 12, day: 31 }
}

function readSpan(text: string, today: CalendarDay): CalendarDay {
  const [, amount, unit = ''] = text.split(' ')
  const count = numberOf(amount)
  if (unit.startsWith('month')) return addDays({ ...today, month: today.month + count }, 0)
  return addDays(today, count * (unit.startsWith('week') ? 7 : 1))
}

/** `3 May`, `May 3rd, 2027`, `the 5th`. */
function readDate(text: string, today: CalendarDay): CalendarDay | undefined {
  const dayNumber = Number(/(?<!\d)\d{1,2}(?!\d)/.exec(text)?.[0])
  const year = Number(/\d{4}/.exec(text)?.[0] ?? Number.NaN)
  const name = new RegExp(`\\b${monthWord}\\b`).exec(text)?.[0]
  if (name === undefined) {
    const here = realDay({ ...today, day: dayNumber })
    return here && dayNumber >= today.day
      ? here
      : realDay(addDays({ ...today, month: today.month + 1, day: dayNumber }, 0))
  }
  const month = monthOf(name)
  if (!Number.isNaN(year)) return realDay({ year, month, day: dayNumber })
  const isPast = month < today.month || (month === today.month && dayNumber < today.day)
  return realDay({ year: today.year + (isPast ? 1 : 0), month, day: dayNumber })
}

const dayMs = 24 * 60 * 60 * 1_000
/** People talk about a day within a week of it. */
export const toldWithinMs = 7 * dayMs
const longSpanMs = 40 * dayMs

/** How well a memory matches the requested days: it refers to them, was said in them, or soon after. */
export function matchDates({ happenedFrom, happenedUntil, createdAt }: Memory, { from, until }: DateRange): number {
  // A whole year matches many memories, so it says little about each.
  const most = until - from > longSpanMs ? 0.3 : 1
  if (happenedFrom !== null && happenedUntil !== null && happenedFrom <= until && happenedUntil >= from) return most
  if (createdAt >= from && createdAt <= until) return most * 0.8
  return createdAt > until && createdAt - until <= toldWithinMs ? most * 0.5 : 0
}
