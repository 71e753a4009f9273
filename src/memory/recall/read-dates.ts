import { addDays, type CalendarDay, dayOf, endOfDay, realDay, weekdayOf } from '../../base/calendar.ts'

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

/** The first form that fits wins: the exact ones come before the vague ones. */
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
  // "May" alone is a verb more often than a month; the others are plain.
  form(`(last|next|this|in|since|during|of) ${month}`, ([way, m], today) => namedMonth(today, way, monthOf(m))),
  form(`(january|february|april|june|july|august|september|october|november|december)`, ([m], today) =>
    namedMonth(today, undefined, monthOf(m)),
  ),
  form(year, ([y]) => ({
    first: { year: Number(y), month: 1, day: 1 },
    last: { year: Number(y), month: 12, day: 31 },
  })),
]

// One quick look before a dozen patterns are tried: most sentences name no day.
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

/** True for a lower-case word that does nothing but name a day. */
export function isDayWord(word: string): boolean {
  return dayWords.has(word) || /^\d{1,4}(?:st|nd|rd|th)?$/.test(word)
}

/**
 * The days that a text written at that time speaks of, from the first to the last millisecond: "yesterday", "on 3 May",
 * "last week". Undefined where it names none.
 */
export function readDates(text: string, at: number, timeZone: string): DateRange | undefined {
  const read = text.slice(0, 2_000)
  if (!hasDate.test(read)) return undefined
  const today = dayOf(at, timeZone)
  for (const { pattern, read: readDays } of forms) {
    const found = pattern.exec(read)
    const days =
      found &&
      readDays(
        found.slice(1).map((group) => (group ?? '').toLowerCase()),
        today,
      )
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

/** A day without its year is the nearest such day, in either direction. */
function nearest(today: CalendarDay, wantedMonth: number, day: number): Days | undefined {
  const distance = (wantedMonth - today.month) * 30 + day - today.day
  const wantedYear = distance > 183 ? today.year - 1 : distance < -183 ? today.year + 1 : today.year
  return oneDay(wantedYear, wantedMonth, day)
}

/** A month without its year is the latest one, unless it is said to be the next, or this year's. */
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

/** The one before, where nothing says that it is to come. */
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
