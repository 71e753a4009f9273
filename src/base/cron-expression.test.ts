import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { type CronExpression, parseCronExpression } from './cron-expression.ts'

function parsed(text: string, timeZone = 'UTC'): CronExpression {
  const result = parseCronExpression(text, timeZone)
  if (!result.ok) throw new Error(result.message)
  return result.value
}

function problemOf(text: string): string {
  const result = parseCronExpression(text, 'UTC')
  return result.ok ? 'none' : result.message
}

/** `2026-03-29T00:30Z = 01:30`: the moment, and the local time. */
function listed(text: string, timeZone: string, from: string, count: number): string[] {
  const expression = parsed(text, timeZone)
  const wall = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  const lines: string[] = []
  let at: number | undefined = Date.parse(from)
  for (let index = 0; index < count; index += 1) {
    at = expression.next(at ?? 0)
    if (at === undefined) break
    lines.push(`${new Date(at).toISOString().slice(0, 16)}Z = ${wall.format(at)}`)
  }
  return lines
}

describe('parseCronExpression', () => {
  it.each([
    ['*/30', '*/30 * * * *'],
    ['*/1', '*/1 * * * *'],
    ['*/60', '0 * * * *'],
    ['*/120', '0 */2 * * *'],
    ['*/1440', '0 0 * * *'],
    [' 0  7 * * 1-5 ', '0 7 * * 1-5'],
    ['5,10-20/5,40 */2 1 JAN-mar Sun,fri', '5,10-20/5,40 */2 1 jan-mar sun,fri'],
    ['0 0 * * 7', '0 0 * * 7'],
  ])('TOOL-7 understands %j', (text, fields) => {
    expect(parsed(text).fields).toBe(fields)
  })

  it.each([
    ['', 'neither of the two forms'],
    ['30', 'neither of the two forms'],
    ['every 30 minutes', 'has 3 fields'],
    ['@daily', 'neither of the two forms'],
    ['*/45', '45 minutes divides neither an hour nor'],
    ['*/90', '90 minutes divides neither'],
    ['*/0', '0 minutes divides neither'],
    ['* * * * * *', 'has 6 fields'],
    ['60 * * * *', 'the minute \\"60\\" is not between 0 and 59'],
    ['0 24 * * *', 'the hour \\"24\\" is not between 0 and 23'],
    ['0 0 0 * *', 'the day of the month \\"0\\" is not between 1 and 31'],
    ['0 0 * 13 *', 'the month \\"13\\" is not between 1 and 12'],
    ['0 0 * * 8', 'the day of the week \\"8\\" is not between 0 and 7'],
    ['0 0 * * moon', 'the day of the week \\"moon\\"'],
    ['0 0 L * *', 'the day of the month \\"l\\"'],
    ['0 7 ? * *', 'the day of the month \\"?\\"'],
    ['0 0 * * 5#2', 'the day of the week \\"5#2\\"'],
    ['5/5 * * * *', '\\"5/5\\" is not a valid minute'],
    ['10-5 * * * *', '\\"10-5\\" ends before it begins'],
    ['*/0 * * * *', 'a step that is not valid for the minute'],
    ['0 0 31 2 *', 'no such day in any year'],
    ['1,,2 * * * *', 'the minute \\"\\" is not'],
    ['-1 * * * *', 'the minute \\"\\" is not'],
    [`*${' '.repeat(200)}`, 'at most 200 characters'],
  ])('TOOL-7 explains why %j is invalid', (text, reason) => {
    expect(problemOf(text)).toContain(JSON.parse(`"${reason}"`))
  })

  it('TOOL-7 never throws, and results lie in the future', () => {
    const field = fastCheck.constantFrom(
      '*',
      '0',
      '7',
      '*/5',
      '1-5',
      '31',
      '2',
      'mon',
      '99',
      '*/',
      '-',
      ',',
      '1-',
      '/2',
    )
    const text = fastCheck.oneof(
      anyText,
      fastCheck.array(field, { minLength: 1, maxLength: 7 }).map((parts) => parts.join(' ')),
    )
    fastCheck.assert(
      fastCheck.property(
        text,
        fastCheck.date({ min: new Date(0), max: new Date('2099-01-01'), noInvalidDate: true }),
        (given, date) => {
          const result = parseCronExpression(given, 'Europe/Malta')
          if (!result.ok) {
            expect(result.message).not.toBe('')
            return
          }
          const next = result.value.next(date.getTime())
          if (next === undefined) return
          expect(next).toBeGreaterThan(date.getTime())
          expect(result.value.between(next, next, 3)).toEqual([next])
        },
      ),
    )
  })
})

describe('between', () => {
  it('lists due times, newest first, up to the limit', () => {
    const hourly = parsed('0 * * * *')
    const from = Date.UTC(2026, 0, 1, 9)
    const to = Date.UTC(2026, 0, 1, 12)
    const hours = (times: number[]) => times.map((time) => new Date(time).getUTCHours())
    expect(hours(hourly.between(from, to, 10))).toEqual([12, 11, 10, 9])
    expect(hours(hourly.between(from + 1, to - 1, 10))).toEqual([11, 10])
    expect(hours(hourly.between(from, to, 2))).toEqual([12, 11])
    expect(hourly.between(from + 1, from + 2, 10)).toEqual([])
  })
})

describe('when the clocks change', () => {
  it('TOOL-7 */30 runs every 30 minutes across a skipped hour (Malta, 29 March 2026)', () => {
    expect(listed('*/30', 'Europe/Malta', '2026-03-28T23:59:00Z', 8)).toEqual([
      '2026-03-29T00:00Z = 2026-03-29 01:00',
      '2026-03-29T00:30Z = 2026-03-29 01:30',
      '2026-03-29T01:00Z = 2026-03-29 03:00',
      '2026-03-29T01:30Z = 2026-03-29 03:30',
      '2026-03-29T02:00Z = 2026-03-29 04:00',
      '2026-03-29T02:30Z = 2026-03-29 04:30',
      '2026-03-29T03:00Z = 2026-03-29 05:00',
      '2026-03-29T03:30Z = 2026-03-29 05:30',
    ])
  })

  it('TOOL-7 */30 runs every 30 minutes across a repeated hour (Malta, 25 October 2026)', () => {
    expect(listed('*/30', 'Europe/Malta', '2026-10-24T23:29:00Z', 8)).toEqual([
      '2026-10-24T23:30Z = 2026-10-25 01:30',
      '2026-10-25T00:00Z = 2026-10-25 02:00',
      '2026-10-25T00:30Z = 2026-10-25 02:30',
      '2026-10-25T01:00Z = 2026-10-25 02:00',
      '2026-10-25T01:30Z = 2026-10-25 02:30',
      '2026-10-25T02:00Z = 2026-10-25 03:00',
      '2026-10-25T02:30Z = 2026-10-25 03:30',
      '2026-10-25T03:00Z = 2026-10-25 04:00',
    ])
  })

  it('TOOL-7 */30 over both changes in New York (8 March and 1 November 2026)', () => {
    expect(listed('*/30', 'America/New_York', '2026-03-08T05:59:00Z', 6)).toEqual([
      '2026-03-08T06:00Z = 2026-03-08 01:00',
      '2026-03-08T06:30Z = 2026-03-08 01:30',
      '2026-03-08T07:00Z = 2026-03-08 03:00',
      '2026-03-08T07:30Z = 2026-03-08 03:30',
      '2026-03-08T08:00Z = 2026-03-08 04:00',
      '2026-03-08T08:30Z = 2026-03-08 04:30',
    ])
    expect(listed('*/30', 'America/New_York', '2026-11-01T04:59:00Z', 6)).toEqual([
      '2026-11-01T05:00Z = 2026-11-01 01:00',
      '2026-11-01T05:30Z = 2026-11-01 01:30',
      '2026-11-01T06:00Z = 2026-11-01 01:00',
      '2026-11-01T06:30Z = 2026-11-01 01:30',
      '2026-11-01T07:00Z = 2026-11-01 02:00',
      '2026-11-01T07:30Z = 2026-11-01 02:30',
    ])
  })

  it('TOOL-7 0 7 * * 1-5 stays at seven in the morning across both changes, and skips the weekend', () => {
    expect(listed('0 7 * * 1-5', 'Europe/Malta', '2026-03-26T12:00:00Z', 3)).toEqual([
      '2026-03-27T06:00Z = 2026-03-27 07:00',
      '2026-03-30T05:00Z = 2026-03-30 07:00',
      '2026-03-31T05:00Z = 2026-03-31 07:00',
    ])
    expect(listed('0 7 * * 1-5', 'Europe/Malta', '2026-10-22T12:00:00Z', 3)).toEqual([
      '2026-10-23T05:00Z = 2026-10-23 07:00',
      '2026-10-26T06:00Z = 2026-10-26 07:00',
      '2026-10-27T06:00Z = 2026-10-27 07:00',
    ])
    expect(listed('0 7 * * 1-5', 'America/New_York', '2026-03-05T15:00:00Z', 3)).toEqual([
      '2026-03-06T12:00Z = 2026-03-06 07:00',
      '2026-03-09T11:00Z = 2026-03-09 07:00',
      '2026-03-10T11:00Z = 2026-03-10 07:00',
    ])
    expect(listed('0 7 * * 1-5', 'America/New_York', '2026-10-29T15:00:00Z', 3)).toEqual([
      '2026-10-30T11:00Z = 2026-10-30 07:00',
      '2026-11-02T12:00Z = 2026-11-02 07:00',
      '2026-11-03T12:00Z = 2026-11-03 07:00',
    ])
  })

  it('TOOL-7 a skipped time runs after the jump; a repeated time runs once', () => {
    expect(listed('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00Z = 2026-03-29 03:00',
      '2026-03-30T00:30Z = 2026-03-30 02:30',
    ])
    expect(listed('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30Z = 2026-10-25 02:30',
      '2026-10-26T01:30Z = 2026-10-26 02:30',
    ])
    expect(listed('30 1 * * *', 'America/New_York', '2026-10-31T12:00:00Z', 2)).toEqual([
      '2026-11-01T05:30Z = 2026-11-01 01:30',
      '2026-11-02T06:30Z = 2026-11-02 01:30',
    ])
  })
})
