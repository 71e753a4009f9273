import { Cron } from 'croner'
import type { Parsed } from './json.ts'

/** A recurring schedule in one time zone. */
export interface CronExpression {
  readonly fields: string
  /** The first time after this one; undefined if there is none. */
  next(after: number): number | undefined
  /** The times from `from` to `to`, inclusive, newest first, at most `limit`. */
  between(from: number, to: number, limit: number): number[]
}

interface Field {
  name: string
  lowest: number
  highest: number
  /** In order, starting at the lowest number. */
  names?: readonly string[]
}

const fields: readonly Field[] = [
  { name: 'minute', lowest: 0, highest: 59 },
  { name: 'hour', lowest: 0, highest: 23 },
  { name: 'day of the month', lowest: 1, highest: 31 },
  {
    name: 'month',
    lowest: 1,
    highest: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  // 7 is also Sunday.
  { name: 'day of the week', lowest: 0, highest: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]

const longest = 200
const minutesOfDay = 24 * 60
const forms =
  'Write "*/30" for every 30 minutes, or five fields: minute, hour, day of the month, month, day of the week.'

/**
 * A step alone for every so many minutes, or the five fields of cron. Anything else is an error that says why.
 *
 * When the clocks change, a fixed time of day (`0 7 * * 1-5`) runs once on that day: after the gap that skips it, or in
 * the first of two equal hours. An interval continues in real time. If both day fields are restricted, either one is
 * enough, as in cron.
 */
export function parseCronExpression(text: string, timeZone: string): Parsed<CronExpression> {
  const read = readFields(text)
  if (!read.ok) return read
  const cron = new Cron(read.value, { timezone: timeZone, mode: '5-part', paused: true })
  const value: CronExpression = {
    fields: read.value,
    next: (after) => cron.nextRun(new Date(after))?.getTime(),
    between(from, to, limit) {
      // It searches before a whole second, and one more than needed, since `to` may lie just before one.
      const times = cron.previousRuns(limit + 1, new Date(to + 1_000)).map((date) => date.getTime())
      return times.filter((time) => time >= from && time <= to).slice(0, limit)
    },
  }
  // Any start time works: a schedule that runs at all runs within the years that are searched.
  if (value.next(0) === undefined) return wrong(text, 'there is no such day in any year.')
  return { ok: true, value }
}

function readFields(text: string): Parsed<string> {
  if (text.length > longest)
    return { ok: false, message: `A schedule may have at most ${longest} characters. ${forms}` }
  const parts = text.trim().toLowerCase().split(/\s+/)
  if (parts.length === 1 && /^\*\/\d{1,6}$/.test(parts[0] ?? '')) return readInterval(text, Number(parts[0]?.slice(2)))
  if (parts.length !== fields.length) {
    return wrong(
      text,
      parts.length === 1 ? `it has neither of the two forms. ${forms}` : `it has ${parts.length} fields. ${forms}`,
    )
  }
  for (const [index, field] of fields.entries()) {
    for (const item of (parts[index] ?? '').split(',')) {
      const problem = problemOf(item, field)
      if (problem) return wrong(text, problem)
    }
  }
  return { ok: true, value: parts.join(' ') }
}

/** Only steps that the fields can express: a step of 45 minutes would run after 45 and then after 15. */
function readInterval(text: string, minutes: number): Parsed<string> {
  if (minutes > 0 && 60 % minutes === 0)
    return { ok: true, value: minutes === 60 ? '0 * * * *' : `*/${minutes} * * * *` }
  if (minutes > 0 && minutes % 60 === 0 && minutesOfDay % minutes === 0) {
    return { ok: true, value: minutes === minutesOfDay ? '0 0 * * *' : `0 */${minutes / 60} * * *` }
  }
  return wrong(
    text,
    `an interval of ${minutes} minutes divides neither an hour nor, as whole hours, a day. Write five fields instead.`,
  )
}

/** `*`, `5`, `1-5`; the first and the last may have a step. */
function problemOf(item: string, field: Field): string | undefined {
  const { name, lowest, highest } = field
  const [range = '', step, ...more] = item.split('/')
  const ends = range.split('-')
  const isRange = range === '*' || ends.length === 2
  if (more.length > 0 || ends.length > 2 || (step !== undefined && !isRange))
    return `${quoted(item)} is not a valid ${name}.`
  if (step !== undefined && !(/^\d{1,2}$/.test(step) && Number(step) > 0 && Number(step) <= highest)) {
    return `${quoted(item)} has a step that is not valid for the ${name}.`
  }
  if (range === '*') return undefined
  const numbers = ends.map((end) => numberOf(end, field))
  const wrongEnd = numbers.findIndex((number) => number === undefined || number < lowest || number > highest)
  if (wrongEnd >= 0) return `the ${name} ${quoted(ends[wrongEnd] ?? '')} is not between ${lowest} and ${highest}.`
  const [from = 0, to = from] = numbers
  return from > to ? `${quoted(item)} ends before it begins.` : undefined
}

function numberOf(text: string, { lowest, names = [] }: Field): number | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text)
  const index = names.indexOf(text)
  return index < 0 ? undefined : index + lowest
}

function wrong(text: string, reason: string): { ok: false; message: string } {
  return { ok: false, message: `The schedule ${quoted(text)} is not valid: ${reason}` }
}

function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed())
}
