import { Cron } from 'croner'

/** When something is due, again and again, on the clock of one time zone. */
export interface CronExpression {
  /** The five fields that it stands for. */
  readonly fields: string
  /** The first time after this one; undefined where no further one comes. */
  next(after: number): number | undefined
  /** The times from `from` to `to`, both included, newest first and no more than `limit`. */
  between(from: number, to: number, limit: number): number[]
}

export type ParsedCron = { ok: true; value: CronExpression } | { ok: false; message: string }

interface Field {
  name: string
  lowest: number
  highest: number
  /** In order, from the lowest number on. */
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
  // 7 is Sunday too.
  { name: 'day of the week', lowest: 0, highest: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]

const longest = 200
const minutesOfDay = 24 * 60
const forms =
  'Write "*/30" for every 30 minutes, or five fields: minute, hour, day of the month, month, day of the week.'

/**
 * Every so many minutes, as a step alone, or the five fields of cron. Anything else is an error that says why.
 *
 * Where the clocks change, what has one time of day (`0 7 * * 1-5`) comes once on that day: at the end of a gap that
 * swallows it, at the first of two hours that are called the same. What comes every so many minutes goes on doing so in
 * real time. With both days restricted, either one is enough, as cron has always had it.
 */
export function parseCronExpression(text: string, timeZone: string): ParsedCron {
  const read = readFields(text)
  if (!read.ok) return read
  const cron = new Cron(read.fields, { timezone: timeZone, mode: '5-part', paused: true })
  const value: CronExpression = {
    fields: read.fields,
    next: (after) => cron.nextRun(new Date(after))?.getTime(),
    between(from, to, limit) {
      // It looks before a whole second, and one more than needed, since `to` may lie just before one.
      const times = cron.previousRuns(limit + 1, new Date(to + 1_000)).map((date) => date.getTime())
      return times.filter((time) => time >= from && time <= to).slice(0, limit)
    },
  }
  // Any moment will do: what comes at all comes within the years that are looked through.
  if (value.next(0) === undefined) return wrong(text, 'there is no such day in any year.')
  return { ok: true, value }
}

type ReadFields = { ok: true; fields: string } | { ok: false; message: string }

function readFields(text: string): ReadFields {
  if (text.length > longest) return { ok: false, message: `A schedule has at most ${longest} characters. ${forms}` }
  const parts = text.trim().toLowerCase().split(/\s+/)
  if (parts.length === 1 && /^\*\/\d{1,6}$/.test(parts[0] ?? '')) return readInterval(text, Number(parts[0]?.slice(2)))
  if (parts.length !== fields.length) {
    return wrong(
      text,
      parts.length === 1 ? `it is neither of the two forms. ${forms}` : `it has ${parts.length} fields. ${forms}`,
    )
  }
  for (const [index, field] of fields.entries()) {
    const problem = problemOf(parts[index] ?? '', field)
    if (problem) return wrong(text, problem)
  }
  return { ok: true, fields: parts.join(' ') }
}

/** Only what the fields can keep: a step of 45 in the minutes is 45 minutes and then 15. */
function readInterval(text: string, minutes: number): ReadFields {
  if (minutes > 0 && 60 % minutes === 0)
    return { ok: true, fields: minutes === 60 ? '0 * * * *' : `*/${minutes} * * * *` }
  if (minutes > 0 && minutes % 60 === 0 && minutesOfDay % minutes === 0) {
    return { ok: true, fields: minutes === minutesOfDay ? '0 0 * * *' : `0 */${minutes / 60} * * *` }
  }
  return wrong(text, `${minutes} minutes divide neither an hour nor, as whole hours, a day. Write five fields instead.`)
}

function problemOf(part: string, field: Field): string | undefined {
  for (const item of part.split(',')) {
    const problem = problemOfItem(item, field)
    if (problem) return problem
  }
  return undefined
}

/** `*`, `5`, `1-5`, each of the first and the last with a step. */
function problemOfItem(item: string, field: Field): string | undefined {
  const { name, lowest, highest } = field
  const [range = '', step, ...more] = item.split('/')
  const ends = range.split('-')
  const isRange = range === '*' || ends.length === 2
  if (more.length > 0 || ends.length > 2 || (step !== undefined && !isRange)) return `${quoted(item)} is no ${name}.`
  if (step !== undefined && !(/^\d{1,2}$/.test(step) && Number(step) > 0 && Number(step) <= highest)) {
    return `${quoted(item)} has a step that no ${name} can take.`
  }
  if (range === '*') return undefined
  const numbers = ends.map((end) => numberOf(end, field))
  const wrongEnd = numbers.findIndex((number) => number === undefined || number < lowest || number > highest)
  if (wrongEnd >= 0) return `the ${name} ${quoted(ends[wrongEnd] ?? '')} is not from ${lowest} to ${highest}.`
  const [from = 0, to = from] = numbers
  return from > to ? `${quoted(item)} ends before it begins.` : undefined
}

function numberOf(text: string, { lowest, names = [] }: Field): number | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text)
  const index = names.indexOf(text)
  return index < 0 ? undefined : index + lowest
}

function wrong(text: string, reason: string): { ok: false; message: string } {
  return { ok: false, message: `The schedule ${quoted(text)} cannot be kept: ${reason}` }
}

function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed())
}
