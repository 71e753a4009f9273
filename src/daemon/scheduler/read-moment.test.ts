import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { formatDue } from '../../tools/builtin/schedule-tools.ts'
import { readMoment } from './create-schedules.ts'

/** A Sunday, 10:00 in Malta. */
const now = Date.parse('2026-11-15T09:00:00Z')
const malta = 'Europe/Malta'

function read(text: string, at = now, zone = malta): string {
  const moment = readMoment(text, at, zone)
  return moment.ok ? formatDue(moment.at, zone).replace(` ${zone}`, '') : moment.message
}

describe('readMoment', () => {
  it.each([
    ['2026-12-01T09:30', '2026-12-01 09:30'],
    ['2026-12-01 09:30:15', '2026-12-01 09:30'],
    ['2026-12-01T09:30:00Z', '2026-12-01 10:30'],
    ['2026-12-01T09:30:00.123+05:30', '2026-12-01 05:00'],
    ['2026-12-01', '2026-12-01 09:00'],
    ['in 20 minutes', '2026-11-15 10:20'],
    ['in an hour', '2026-11-15 11:00'],
    ['in 2h', '2026-11-15 12:00'],
    ['in 3 days', '2026-11-18 10:00'],
    ['tomorrow', '2026-11-16 09:00'],
    ['Tomorrow at 7', '2026-11-16 07:00'],
    ['tomorrow 18:30', '2026-11-16 18:30'],
    ['tomorrow evening at 8', '2026-11-16 20:00'],
    ['at 7pm tomorrow', '2026-11-16 19:00'],
    ['12 am tomorrow', '2026-11-16 00:00'],
    ['tonight', '2026-11-15 20:00'],
    ['this afternoon', '2026-11-15 15:00'],
    ['at noon', '2026-11-15 12:00'],
    ['tomorrow at noon', '2026-11-16 12:00'],
    ['11:15', '2026-11-15 11:15'],
    ['9:15', '2026-11-16 09:15'],
    ['friday', '2026-11-20 09:00'],
    ['on Friday at 18:00', '2026-11-20 18:00'],
    ['next monday 8:05', '2026-11-16 08:05'],
    ['sunday at 12', '2026-11-15 12:00'],
    ['sunday at 9', '2026-11-22 09:00'],
    ['3 May', '2027-05-03 09:00'],
    ['December 24th, 2026 at 17:00', '2026-12-24 17:00'],
    ['thursday 24 december', '2026-12-24 09:00'],
  ])('SCHED-1 reads %s', (text, expected) => expect(read(text)).toBe(expected))

  it.each(['2026-11-15T09:59', 'yesterday', 'today at 9:00', '1 November 2026', 'this morning'])(
    'SCHED-1 rejects %s, which is in the past or not a future time',
    (text) => expect(readMoment(text, now, malta).ok).toBe(false),
  )

  it.each([
    'tomorrow 15',
    'tomorrow or so',
    'next week',
    'in May',
    '2027',
    'in 20',
    'at 25',
    '13pm',
    'tomorrow at 9 and at 10',
    '30 February 2027',
    '2026-13-01T09:00',
    '2026-12-01T09:30+99:00',
    'soon',
    '',
    'friday 18:30 please',
    'x'.repeat(300),
  ])('SCHED-1 does not guess at %j', (text) => expect(readMoment(text, now, malta).ok).toBe(false))

  it('SCHED-1 a skipped time is the end of the gap, a repeated one is the first', () => {
    const march = Date.parse('2026-03-28T12:00:00Z')
    expect(readMoment('2026-03-29T02:30', march, 'Europe/Berlin')).toEqual({
      ok: true,
      at: Date.parse('2026-03-29T01:00:00Z'),
    })
    const october = Date.parse('2026-10-24T12:00:00Z')
    expect(readMoment('tomorrow at 2:30', october, 'Europe/Berlin')).toEqual({
      ok: true,
      at: Date.parse('2026-10-25T00:30:00Z'),
    })
  })

  it('SCHED-1 never throws, and results lie in the future', () => {
    const zone = fastCheck.constantFrom('UTC', malta, 'America/New_York', 'Australia/Lord_Howe')
    const word = fastCheck.constantFrom(
      ...'in at on next this friday may 3 3rd 2027 9 :30 9:30 pm tomorrow noon night 2026-12-01 T Z +02:00 ,'.split(
        ' ',
      ),
    )
    const words = fastCheck.array(word, { maxLength: 6 }).map((parts) => parts.join(' '))
    fastCheck.assert(
      fastCheck.property(fastCheck.oneof(anyText, words), zone, (text, timeZone) => {
        const moment = readMoment(text, now, timeZone)
        return moment.ok ? moment.at > now : moment.message.length > 0
      }),
      { numRuns: 500 },
    )
  })
})
