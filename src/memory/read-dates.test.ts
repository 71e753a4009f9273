import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { isDayWord, readDates } from './dates.ts'

// A Wednesday, nine in the morning, in a zone without clock changes.
const at = Date.parse('2026-11-18T09:00:00+05:30')
const zone = 'Asia/Kolkata'

function expectDays(text: string, first: string, last: string): void {
  const from = Date.parse(`${first}T00:00:00.000+05:30`)
  const until = Date.parse(`${last}T23:59:59.999+05:30`)
  expect(readDates(text, at, zone)).toEqual({ from, until })
}

function read(text: string, now: string, timeZone: string): string[] | undefined {
  const found = readDates(text, Date.parse(now), timeZone)
  return found && [found.from, found.until].map((time) => new Date(time).toISOString())
}

describe('readDates', () => {
  it.each([
    ['I flew home on 2026-05-03.', '2026-05-03'],
    ['I flew home on 3 May 2025', '2025-05-03'],
    ['I flew home on the 3rd of May, 2025', '2025-05-03'],
    ['I flew home on May 3rd, 2025', '2025-05-03'],
    ['I flew home on MAY 3 2025', '2025-05-03'],
    ['29 February 2024 was odd', '2024-02-29'],
    ['on the 21st of September', '2026-09-21'],
    ['on Sept 21st', '2026-09-21'],
    ['on 31 December', '2026-12-31'],
    // The nearest one: half a year ahead is nearer than more than half a year ago.
    ['on 20 January', '2027-01-20'],
    ['on 3 June', '2026-06-03'],
    ['today', '2026-11-18'],
    ['Tonight we eat out', '2026-11-18'],
    ['this morning', '2026-11-18'],
    ['yesterday', '2026-11-17'],
    ['last night', '2026-11-17'],
    ['the day before yesterday', '2026-11-16'],
    ['tomorrow', '2026-11-19'],
    ['a day ago', '2026-11-17'],
    ['3 days ago', '2026-11-15'],
    ['three days ago', '2026-11-15'],
    ['a few days ago', '2026-11-15'],
    ['a couple of days ago', '2026-11-16'],
    ['on Monday', '2026-11-16'],
    ['Friday', '2026-11-13'],
    ['on Wednesday', '2026-11-18'],
    ['last Wednesday', '2026-11-11'],
    ['next Wednesday', '2026-11-25'],
    ['this Wednesday', '2026-11-18'],
    ['this Friday', '2026-11-20'],
    ['next Monday', '2026-11-23'],
    ['the coming Saturday', '2026-11-21'],
  ])('MEM-3 reads the day of: %s', (text, day) => {
    expectDays(text, day, day)
  })

  it.each([
    ['What did I tell you last week?', '2026-11-09', '2026-11-15'],
    ['this week', '2026-11-16', '2026-11-22'],
    ['next week', '2026-11-23', '2026-11-29'],
    ['last weekend', '2026-11-14', '2026-11-15'],
    ['this weekend', '2026-11-21', '2026-11-22'],
    ['the coming weekend', '2026-11-21', '2026-11-22'],
    ['next weekend', '2026-11-28', '2026-11-29'],
    ['two weeks ago', '2026-11-01', '2026-11-07'],
    ['last month', '2026-10-01', '2026-10-31'],
    ['this month', '2026-11-01', '2026-11-30'],
    ['next month', '2026-12-01', '2026-12-31'],
    ['two months ago', '2026-09-01', '2026-09-30'],
    ['eleven months ago', '2025-12-01', '2025-12-31'],
    ['12 months ago', '2025-11-01', '2025-11-30'],
    ['last year', '2025-01-01', '2025-12-31'],
    ['a year ago', '2025-01-01', '2025-12-31'],
    ['20 years ago', '2006-01-01', '2006-12-31'],
    ['in May', '2026-05-01', '2026-05-31'],
    ['last May', '2026-05-01', '2026-05-31'],
    ['next May', '2027-05-01', '2027-05-31'],
    ['in December', '2025-12-01', '2025-12-31'],
    ['this December', '2026-12-01', '2026-12-31'],
    ['next November', '2027-11-01', '2027-11-30'],
    ['last November', '2025-11-01', '2025-11-30'],
    ['it was November', '2026-11-01', '2026-11-30'],
    ['in February 2024', '2024-02-01', '2024-02-29'],
    ['Dec, 2025', '2025-12-01', '2025-12-31'],
    ['back in 2019', '2019-01-01', '2019-12-31'],
    // An invalid day: the rest is used.
    ['on 30 February 2026', '2026-02-01', '2026-02-28'],
    ['on 29 February', '2026-02-01', '2026-02-28'],
    ['on 2026-13-45', '2026-01-01', '2026-12-31'],
  ])('MEM-3 reads the days of: %s', (text, first, last) => {
    expectDays(text, first, last)
  })

  it('MEM-3 prefers an exact day over a vague one', () => {
    expectDays('Last year I said it, on 3 May 2025, not in June', '2025-05-03', '2025-05-03')
    expectDays('next year, but tell me today', '2026-11-18', '2026-11-18')
  })

  it.each([
    '',
    'What may I eat?',
    'They march on',
    'a weekly meeting',
    'I counted 20260 peanuts',
    'sundays',
    'on May 45',
    'days of old',
  ])('MEM-3 reads none in: %s', (text) => {
    expect(readDates(text, at, zone)).toBeUndefined()
  })

  it("MEM-3 uses the user's local day", () => {
    const late = '2026-11-15T23:00:00Z'
    expect(read('today', late, 'UTC')).toEqual(['2026-11-15T00:00:00.000Z', '2026-11-15T23:59:59.999Z'])
    expect(read('today', late, 'Asia/Tokyo')).toEqual(['2026-11-15T15:00:00.000Z', '2026-11-16T14:59:59.999Z'])
    expect(read('today', late, 'America/New_York')).toEqual(['2026-11-15T05:00:00.000Z', '2026-11-16T04:59:59.999Z'])
  })

  it('MEM-3 handles days that are an hour shorter or longer', () => {
    const now = '2026-10-27T12:00:00Z'
    expect(read('on 2026-03-29', now, 'Europe/Berlin')).toEqual([
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T21:59:59.999Z',
    ])
    expect(read('on 2026-10-25', now, 'Europe/Berlin')).toEqual([
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T22:59:59.999Z',
    ])
    expect(read('last week', now, 'Europe/Berlin')).toEqual(['2026-10-18T22:00:00.000Z', '2026-10-25T22:59:59.999Z'])
    // There, that day begins at one o'clock.
    expect(read('2018-11-04', now, 'America/Sao_Paulo')).toEqual([
      '2018-11-04T03:00:00.000Z',
      '2018-11-05T01:59:59.999Z',
    ])
  })

  it('MEM-3 accepts any text, and returns whole days or nothing', () => {
    const words = fc.constantFrom(
      'last',
      'next',
      'May',
      '3',
      '31st',
      'of',
      '2025',
      'week',
      'ago',
      'a few',
      'Monday',
      '-',
      ',',
    )
    const texts = fc.oneof(
      anyText,
      fc.array(fc.oneof(words, anyText), { maxLength: 12 }).map((parts) => parts.join(' ')),
    )
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 4e12 }), (text, now) => {
        const found = readDates(text, now, 'Europe/Berlin')
        if (found) expect(found.until - found.from).toBeGreaterThan(22 * 60 * 60 * 1_000)
      }),
      { numRuns: 300 },
    )
  })

  it('MEM-3 is fast on long texts made to slow down a pattern', () => {
    const texts = ['1', '2026-', 'last ', '3rd of ', 'a few ', 'may ', ' ', 'next last this ', '20'].map((piece) =>
      piece.repeat(100_000 / piece.length),
    )
    for (const text of texts) {
      readDates(text, at, zone)
      expect(readDates(`${text} yesterday`, at, zone)).toEqual(readDates(text, at, zone))
    }
  })
})

describe('isDayWord', () => {
  it('MEM-3 recognizes words that only name days', () => {
    for (const word of ['may', 'wednesday', 'last', 'week', '3', '21st', '2026', 'ago'])
      expect(isDayWord(word)).toBe(true)
    for (const word of ['birthday', 'car', '123456', '5k', '']) expect(isDayWord(word)).toBe(false)
  })
})
