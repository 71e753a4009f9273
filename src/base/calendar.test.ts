import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addDays, dayOf, endOfDay, formatDay, parseDay, realDay, weekdayOf } from './clock.ts'

const zones = ['UTC', 'Asia/Tokyo', 'America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Auckland']
// These zones change clocks at midnight: it is skipped in spring, and an hour beside it repeats in autumn.
const zonesThatChangeAtMidnight = ['America/Havana', 'Africa/Cairo', 'America/Santiago', 'Asia/Beirut']

function endOf(text: string, zone: string): string {
  const day = parseDay(text)
  return day ? new Date(endOfDay(day, zone)).toISOString() : ''
}

describe('dayOf', () => {
  it('MEM-9 is the calendar day in that zone', () => {
    const late = Date.UTC(2026, 11, 31, 23, 30)
    expect(formatDay(dayOf(late, 'UTC'))).toBe('2026-12-31')
    expect(formatDay(dayOf(late, 'Asia/Tokyo'))).toBe('2027-01-01')
    expect(formatDay(dayOf(late - 24 * 60 * 60 * 1_000, 'America/New_York'))).toBe('2026-12-30')
  })
})

describe('endOfDay', () => {
  it('MEM-9 ends when the next day begins there', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e12 }),
        fc.constantFrom(...zones, ...zonesThatChangeAtMidnight),
        (time, zone) => {
          const day = dayOf(time, zone)
          const end = endOfDay(day, zone)
          expect(dayOf(end, zone)).toEqual(day)
          expect(dayOf(end + 1, zone)).toEqual(addDays(day, 1))
          expect(parseDay(formatDay(day))).toEqual(day)
        },
      ),
    )
  })

  it.each([
    ['2026-11-20', 'Europe/Berlin', '2026-11-20T22:59:59.999Z'],
    // 23 and 25 hours long.
    ['2026-03-28', 'Europe/Berlin', '2026-03-28T22:59:59.999Z'],
    ['2026-03-29', 'Europe/Berlin', '2026-03-29T21:59:59.999Z'],
    ['2026-10-24', 'Europe/Berlin', '2026-10-24T21:59:59.999Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-25T22:59:59.999Z'],
    // Jumps from midnight to one o'clock.
    ['2018-11-03', 'America/Sao_Paulo', '2018-11-04T02:59:59.999Z'],
    // Goes back from midnight to eleven: the day continues for another hour.
    ['2018-02-17', 'America/Sao_Paulo', '2018-02-18T02:59:59.999Z'],
    // Goes back from one o'clock to midnight: the next day began an hour before.
    ['2025-11-01', 'America/Havana', '2025-11-02T03:59:59.999Z'],
  ])('MEM-9 ends %s in %s at %s', (day, zone, end) => {
    expect(endOf(day, zone)).toBe(end)
  })

  it('MEM-9 is right for every day of ten years where the clocks change at midnight', () => {
    for (const zone of zonesThatChangeAtMidnight) {
      for (let day = { year: 2016, month: 1, day: 1 }; day.year < 2026; day = addDays(day, 1)) {
        const end = endOfDay(day, zone)
        const around = [dayOf(end, zone), dayOf(end + 1, zone)].map(formatDay)
        expect(around).toEqual([day, addDays(day, 1)].map(formatDay))
      }
    }
  })
})

describe('days of the calendar', () => {
  it('MEM-9 knows leap years, months and weekdays', () => {
    expect(formatDay(addDays({ year: 2028, month: 2, day: 28 }, 1))).toBe('2028-02-29')
    expect(formatDay(addDays({ year: 2026, month: 1, day: 1 }, -1))).toBe('2025-12-31')
    expect(weekdayOf({ year: 2026, month: 11, day: 15 })).toBe(0)
    expect(realDay({ year: 2026, month: 2, day: 29 })).toBeUndefined()
    expect(realDay({ year: 2026, month: 13, day: 1 })).toBeUndefined()
  })

  it('MEM-9 reads a day at the beginning of a timestamp, and nothing else', () => {
    expect(parseDay(' 2026-11-15T09:00:00Z ')).toEqual({ year: 2026, month: 11, day: 15 })
    for (const text of ['2026-11-151', '2026-02-30', '15.11.2026', '', 'on 2026-11-15'])
      expect(parseDay(text)).toBeUndefined()
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseDay(text)))
  })
})
