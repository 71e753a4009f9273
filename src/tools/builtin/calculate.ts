import type { Temporal as TemporalTypes } from 'temporal-polyfill'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { defineTool, failed, succeeded, type Tool } from '../tool.ts'

type Library = typeof TemporalTypes
type Moment = TemporalTypes.ZonedDateTime

/** A day or moment of a question; `hasTime` if it names one. */
interface Point {
  at: Moment
  hasTime: boolean
}

const zoneForm = '(?:[A-Z][A-Za-z_+-]*/[A-Za-z0-9_+/-]+|UTC|GMT|Z)'
const timeForm = '(?:\\d{1,2}:\\d{2}(?::\\d{2})?(?: ?[ap]m)?|\\d{1,2} ?[ap]m)'
const dayForm = '\\d{4}-\\d{2}-\\d{2}'
const pointForm = `(?:now|today|tomorrow|yesterday|${dayForm}(?:[T ]${timeForm})?|${timeForm})(?: ?${zoneForm})?`
const amountForm = '\\d{1,6} (?:year|month|week|day|hour|minute|second)s?'
const amountsForm = `${amountForm}(?:(?:,| and|,? and)? ${amountForm})*`
const unitForm = '(?:years|months|weeks|days|hours|minutes|seconds)'

const form = (text: string) => new RegExp(`^${text.replaceAll(' ', ' *')}$`, 'i')

const between = form(`(?:(${unitForm}) (?:between|from) )(${pointForm}) (?:and|to|until) (${pointForm})`)
const distance = form(`(?:(${unitForm}) )?(until|till|since) (${pointForm})`)
const difference = form(`(${pointForm}) - (${pointForm})`)
const shifted = form(`(${pointForm}) ([+-]) (${amountsForm})`)
const awayFrom = form(`(${amountsForm}) (after|from|before) (${pointForm})`)
const agoForm = form(`(${amountsForm}) ago`)
const inForm = form(`in (${amountsForm})`)
const weekday = form(`(?:weekday|week|day|date) (?:of|on) (${pointForm})`)
const inZone = form(`(${pointForm}) (?:in|to) (${zoneForm})`)
const alone = form(`(${pointForm})`)

/**
 * Exact arithmetic, units and dates. Nothing of the expression is run: it is read by a grammar of its own. The libraries
 * are loaded when they are first needed.
 */
export function createCalculate({ clock, timeZone }: { clock: Clock; timeZone: string }): Tool {
  return defineTool({
    name: 'calculate',
    description:
      'Exact arithmetic, units and dates: "2^100/3", "15% of 80", "sqrt(2)", "mean(1,2,4)", "26.2 mi in km", "98.6 °F in °C", ' +
      '"90 days after 2026-03-01", "days between A and B", "weekday of 2026-03-01", "15:30 Europe/Berlin in Asia/Tokyo". No currencies.',
    input: z.object({ expression: z.string().trim().min(1).max(500) }),
    effect: 'idempotent',
    async run({ expression }) {
      const text = expression.replace(/\s*[=?]+\s*$/, '').replaceAll(/\s+/g, ' ')
      const dated = await calculateDates(text, { now: clock.now(), timeZone })
      if (dated) return dated.ok ? succeeded(`${text} = ${dated.text}`) : failed(`${dated.text}.`)
      const { BadExpression, evaluate } = await import('./arithmetic.ts')
      try {
        return succeeded(`${text} = ${evaluate(text)}`)
      } catch (error) {
        if (!(error instanceof BadExpression)) throw error
        return failed(`"${text}" was not computed: ${error.message}.`)
      }
    },
  })
}

/** Undefined if the text is not about dates. */
async function calculateDates(
  text: string,
  here: { now: number; timeZone: string },
): Promise<{ ok: boolean; text: string } | undefined> {
  const forms = [between, distance, difference, shifted, awayFrom, agoForm, inForm, weekday, inZone, alone]
  const found = forms.find((one) => one.test(text))
  if (!found) return undefined
  const { Temporal } = await import('temporal-polyfill')
  const reader = createReader(Temporal, here)
  try {
    return { ok: true, text: answer(found, found.exec(text) as RegExpExecArray, reader) }
  } catch (error) {
    // A day or zone that does not exist; the library says which.
    if (!(error instanceof RangeError)) throw error
    return { ok: false, text: `"${text}" was not computed: ${error.message}` }
  }
}

function answer(
  found: RegExp,
  [, a = '', b = '', c = '']: RegExpExecArray,
  reader: ReturnType<typeof createReader>,
): string {
  const { point, amounts, now } = reader
  switch (found) {
    case between:
      return distanceText(point(b), point(c), a)
    case distance: {
      const other = point(c)
      const today = other.hasTime ? now : point('today')
      return b.toLowerCase() === 'since' ? distanceText(other, today, a) : distanceText(today, other, a)
    }
    case difference:
      return distanceText(point(b), point(a), '')
    case shifted:
      return pointText(shift(point(a), amounts(c), b === '-'))
    case awayFrom:
      return pointText(shift(point(c), amounts(a), b.toLowerCase() === 'before'))
    case agoForm:
    case inForm: {
      const given = amounts(a)
      return pointText(shift(given.hasTime ? now : point('today'), given, found === agoForm))
    }
    case inZone: {
      const from = point(a)
      const to = { at: from.at.withTimeZone(reader.zone(b)), hasTime: true }
      return pointText(from.hasTime ? to : { at: now.at.withTimeZone(reader.zone(b)), hasTime: true })
    }
    default:
      return pointText(point(a))
  }
}

function createReader(Temporal: Library, { now, timeZone }: { now: number; timeZone: string }) {
  const instant = Temporal.Instant.fromEpochMilliseconds(now)
  const zone = (name: string | undefined) => (name === undefined ? timeZone : /^(?:z|gmt)$/i.test(name) ? 'UTC' : name)
  const parts = new RegExp(`^(now|today|tomorrow|yesterday|${dayForm})?[T ]*(${timeForm})?[ ]*(${zoneForm})?$`, 'i')

  function point(text: string): Point {
    const [, day = 'today', time, named] = parts.exec(text.trim()) ?? []
    const here = instant.toZonedDateTimeISO(zone(named))
    if (day.toLowerCase() === 'now') return { at: here, hasTime: true }
    const offset = { today: 0, tomorrow: 1, yesterday: -1 }[day.toLowerCase()]
    const date = offset === undefined ? Temporal.PlainDate.from(day) : here.toPlainDate().add({ days: offset })
    const at = date.toZonedDateTime({ timeZone: zone(named), ...(time && { plainTime: readTime(time) }) })
    return { at, hasTime: time !== undefined }
  }

  function readTime(text: string) {
    const [, hours = '', rest = ':00', half] = /^(\d{1,2})(:[\d:]+)? ?([ap]m)?$/i.exec(text) ?? []
    const hour = half ? (Number(hours) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0) : Number(hours)
    return Temporal.PlainTime.from(`${String(hour).padStart(2, '0')}${rest}`)
  }

  function amounts(text: string) {
    const sums: Record<string, number> = {}
    for (const [, count, unit = ''] of text.matchAll(/(\d+) *(year|month|week|day|hour|minute|second)/gi)) {
      const name = `${unit.toLowerCase()}s`
      sums[name] = (sums[name] ?? 0) + Number(count)
    }
    return { duration: Temporal.Duration.from(sums), hasTime: /hour|minute|second/i.test(text) }
  }

  return { point, amounts, zone, now: { at: instant.toZonedDateTimeISO(timeZone), hasTime: true } satisfies Point }
}

function shift(
  { at, hasTime }: Point,
  by: { duration: TemporalTypes.Duration; hasTime: boolean },
  back: boolean,
): Point {
  return { at: back ? at.subtract(by.duration) : at.add(by.duration), hasTime: hasTime || by.hasTime }
}

/** In the unit that was asked for, else in days, or in hours if a time was given. */
function distanceText(from: Point, to: Point, unit: string): string {
  const smallest = (unit.toLowerCase() || (from.hasTime || to.hasTime ? 'hours' : 'days')) as 'days'
  const { at } = from
  const other = to.at.withTimeZone(at.timeZoneId)
  const rounded = at.until(other, { largestUnit: smallest, smallestUnit: smallest, roundingMode: 'trunc' })
  const count = rounded[smallest]
  const rest = at.add(rounded).until(other, { largestUnit: 'days' })
  const restText = rest.sign === 0 ? '' : `, and ${durationText(rest.abs())}`
  const plain = `${count} ${Math.abs(count) === 1 ? smallest.slice(0, -1) : smallest}${restText}`
  return smallest === 'days' && Math.abs(count) > 60
    ? `${plain} (${durationText(at.until(other, { largestUnit: 'years', smallestUnit: 'days', roundingMode: 'trunc' }).abs())})`
    : plain
}

function durationText(duration: TemporalTypes.Duration): string {
  const units = ['years', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds'] as const
  const shown = units.flatMap((unit) => {
    const count = duration[unit]
    return count === 0 ? [] : [`${count} ${count === 1 ? unit.slice(0, -1) : unit}`]
  })
  return shown.join(', ') || '0 days'
}

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

function pointText({ at, hasTime }: Point): string {
  const day = `${weekdays[at.dayOfWeek - 1]}, ${at.toPlainDate().toString()}`
  if (!hasTime) return `${day} (week ${at.weekOfYear}, day ${at.dayOfYear} of the year)`
  const time = at
    .toPlainTime()
    .round('second')
    .toString({ smallestUnit: at.second === 0 ? 'minute' : 'second' })
  return `${day}, ${time} ${at.timeZoneId} (UTC${at.offset})`
}
