import { addDays, type CalendarDay, dayOf, parseDay, realDay, weekdayOf } from '../../base/calendar.ts'

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const months = 'january february march april may june july august september october november december'.split(' ')
const numbers = 'zero one two three four five six seven eight nine ten'.split(' ')
const monthWord = '(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}'
const weekdayWord = weekdays.join('|')

// The day stands at the end of what was promised: "send the photos by Friday".
const days = [
  'today|tonight|tomorrow|the day after tomorrow',
  `(?:(?:next|this|coming) )?(?:${weekdayWord})`,
  '(?:this|next|the) (?:week|weekend|month|year)',
  '(?:the )?end of (?:the|this|next) (?:week|month|year)',
  'in (?:\\d{1,2}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?:days?|weeks?|months?)',
  `(?:the )?\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${monthWord}(?:,? \\d{4})?`,
  `${monthWord} \\d{1,2}(?:st|nd|rd|th)?(?:,? \\d{4})?`,
  'the \\d{1,2}(?:st|nd|rd|th)',
  '\\d{4}-\\d{2}-\\d{2}',
].join('|')
const atEnd = new RegExp(`(?:^|,? )(?:(by|until|till|before|on|no later than|due(?: on| by)?) )?(${days})[.!]?$`, 'i')
const readCharacters = 400

export interface Deadline {
  day: CalendarDay
  /** What stood before it. */
  rest: string
  /** It was introduced as one: "by", "until", "before". */
  isFirm: boolean
}

/** The day by which something is due, where the text ends with one. Days without a year lie ahead of `at`. */
export function readDeadline(text: string, at: number, timeZone: string): Deadline | undefined {
  if (text.length > readCharacters) return undefined
  const match = atEnd.exec(text)
  if (!match) return undefined
  const preposition = (match[1] ?? '').toLowerCase()
  const day = readDay((match[2] ?? '').toLowerCase(), dayOf(at, timeZone))
  if (!day) return undefined
  return {
    day: preposition === 'before' ? addDays(day, -1) : day,
    rest: text.slice(0, match.index).trim(),
    isFirm: preposition !== '' && preposition !== 'on',
  }
}

function readDay(text: string, today: CalendarDay): CalendarDay | undefined {
  if (text === 'today' || text === 'tonight') return today
  if (text === 'tomorrow') return addDays(today, 1)
  if (text === 'the day after tomorrow') return addDays(today, 2)
  return (
    parseDay(text) ??
    readWeekday(text, today) ??
    readPeriod(text, today) ??
    readSpan(text, today) ??
    readDate(text, today)
  )
}

/** The next one of that name; "next" where today is that day already means a week from now, and so does the name alone. */
function readWeekday(text: string, today: CalendarDay): CalendarDay | undefined {
  const wanted = weekdays.indexOf(text.split(' ').at(-1) ?? '')
  if (wanted < 0) return undefined
  return addDays(today, (wanted - weekdayOf(today) + 7) % 7 || 7)
}

function readPeriod(text: string, today: CalendarDay): CalendarDay | undefined {
  const later = text.includes('next ') ? 1 : 0
  const sunday = addDays(today, (7 - weekdayOf(today)) % 7)
  if (text.endsWith('week') || text.endsWith('weekend')) return addDays(sunday, later * 7)
  if (text.endsWith('month')) return addDays({ ...today, month: today.month + 1 + later, day: 1 }, -1)
  if (text.endsWith('year')) return { year: today.year + later, month: 12, day: 31 }
  return undefined
}

function readSpan(text: string, today: CalendarDay): CalendarDay | undefined {
  const match = /^in (\S+) (day|week|month)/.exec(text)
  if (!match) return undefined
  const word = match[1] ?? ''
  const count = word === 'a' || word === 'an' ? 1 : numbers.includes(word) ? numbers.indexOf(word) : Number(word)
  if (match[2] === 'month') return addDays({ ...today, month: today.month + count }, 0)
  return addDays(today, count * (match[2] === 'week' ? 7 : 1))
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
  const month = months.findIndex((full) => full.startsWith(name) || name.startsWith(full.slice(0, 3))) + 1
  if (month === 0) return undefined
  if (!Number.isNaN(year)) return realDay({ year, month, day: dayNumber })
  const isPast = month < today.month || (month === today.month && dayNumber < today.day)
  return realDay({ year: today.year + (isPast ? 1 : 0), month, day: dayNumber })
}
