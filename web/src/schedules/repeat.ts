import { calendarNames, formatDate, formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

export type RepeatKind = 'daily' | 'weekdays' | 'weekly' | 'monthly' | 'minutes' | 'cron'

/** The choices so far. Fields that the kind does not need keep their value. */
export interface Repeat {
  kind: RepeatKind
  /** `09:00`. */
  time: string
  /** From Sunday, 0. */
  weekday: string
  day: string
  minutes: string
  cron: string
}

export const startRepeat: Repeat = { kind: 'daily', time: '09:00', weekday: '1', day: '1', minutes: '30', cron: '' }

/** As cron writes it; empty where something is still missing. */
export function toCron({ kind, time, weekday, day, minutes, cron }: Repeat): string {
  if (kind === 'cron') return cron
  if (kind === 'minutes') return /^\d+$/.test(minutes) ? `*/${minutes}` : ''
  const [, hour, minute] = /^(\d\d):(\d\d)/.exec(time) ?? []
  if (hour === undefined || minute === undefined) return ''
  const at = `${Number(minute)} ${Number(hour)}`
  switch (kind) {
    case 'daily':
      return `${at} * * *`
    case 'weekdays':
      return `${at} * * 1-5`
    case 'weekly':
      return `${at} * * ${weekday}`
    case 'monthly':
      return /^\d+$/.test(day) ? `${at} ${day} * *` : ''
  }
}

const weekdays = calendarNames('weekday')
const months = calendarNames('month')
/** The names that cron itself accepts, in any language of the page. */
const cronWeekdays = 'sun mon tue wed thu fri sat'.split(' ')
const cronMonths = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

/** The five fields of cron in words, for what people usually write; undefined where only the times themselves say it well. */
export function cronWords(expression: string): string | undefined {
  const [minute, hour, day, month, weekday, ...more] = expression.trim().toLowerCase().split(/\s+/)
  if (minute === undefined) return undefined
  if (hour === undefined) return stepWords(minute, 'minute')
  if (day === undefined || month === undefined || weekday === undefined || more.length > 0) return undefined
  const days = dayWords(day, month, weekday)
  const times = timeWords(minute, hour)
  if (days === undefined || times === undefined) return undefined
  // Steps repeat through every day.
  const isEveryDay = day === '*' && month === '*' && weekday === '*'
  return isEveryDay && (hour === '*' || hour.startsWith('*/')) ? times : t.schedules.timesAndDays(times, days)
}

function stepWords(field: string, unit: 'minute' | 'hour'): string | undefined {
  if (field === '*') return t.schedules.everyUnit[unit](1)
  const step = /^\*\/(\d+)$/.exec(field)?.[1]
  if (step === undefined) return undefined
  return t.schedules.everyUnit[unit](Number(step))
}

function timeWords(minute: string, hour: string): string | undefined {
  if (hour === '*') {
    const steps = stepWords(minute, 'minute')
    if (steps) return steps
    return isNumber(minute)
      ? Number(minute) === 0
        ? t.schedules.everyHour
        : t.schedules.everyHourMinute(Number(minute))
      : undefined
  }
  if (!isNumber(minute)) return undefined
  const steps = stepWords(hour, 'hour')
  if (steps) return Number(minute) === 0 ? steps : t.schedules.atMinute(steps, Number(minute))
  const hours = hour.split(',')
  if (!hours.every(isNumber)) return undefined
  return t.schedules.at(list(hours.map((one) => clockTime(Number(one), Number(minute)))))
}

function clockTime(hour: number, minute: number): string {
  return formatDate(new Date(2000, 0, 1, hour, minute), { timeStyle: 'short' })
}

function dayWords(day: string, month: string, weekday: string): string | undefined {
  const inMonth = month === '*' ? '' : namesOf(month, months, 1)
  if (inMonth === undefined) return undefined
  const rest = inMonth && t.schedules.inMonth(inMonth)
  if (day === '*' && weekday === '*') return inMonth ? t.schedules.everyDay(rest) : t.schedules.everyDayLower
  // With both days restricted, either is enough: that needs the times to be understood.
  if (day !== '*' && weekday !== '*') return undefined
  if (day !== '*') {
    const days = day.split(',')
    if (!days.every(isNumber)) return undefined
    return t.schedules.onThe(
      list(days.map((one) => t.schedules.ordinal(Number(one)))),
      inMonth ? t.schedules.of(inMonth) : t.schedules.ofEveryMonth,
    )
  }
  if (weekday === '1-5' || weekday === 'mon-fri') return t.schedules.onWeekdays(rest)
  const named = namesOf(weekday, weekdays, 0)
  return named === undefined ? undefined : t.schedules.everyNamed(named, rest)
}

function namesOf(field: string, names: readonly string[], first: number): string | undefined {
  const short = names === months ? cronMonths : cronWeekdays
  const found = field.split(',').map((part) => {
    const named = short.indexOf(part)
    if (named >= 0) return names[named]
    return isNumber(part) ? names[(Number(part) - first) % names.length] : undefined
  })
  return found.every((name) => name !== undefined) ? list(found) : undefined
}

const list = (words: readonly string[]) => formatList(words, 'conjunction')

const isNumber = (text: string) => /^\d{1,2}$/.test(text)
