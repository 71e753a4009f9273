import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDay } from '../base/clock.ts'
import { readDeadline } from './dates.ts'

// A Sunday.
const at = Date.UTC(2026, 10, 15, 9)

describe('readDeadline', () => {
  it.each([
    ['send it by Friday', '2026-11-20', 'send it'],
    ['send it by next Sunday', '2026-11-22', 'send it'],
    ['send it tomorrow', '2026-11-16', 'send it'],
    ['send it before 3 December.', '2026-12-02', 'send it'],
    ['send it on May 3rd', '2027-05-03', 'send it'],
    ['send it by the 3rd of May, 2028', '2028-05-03', 'send it'],
    ['send it by 2026-12-01', '2026-12-01', 'send it'],
    ['send it by the end of the month', '2026-11-30', 'send it'],
    ['send it next month', '2026-12-31', 'send it'],
    ['send it by the weekend', '2026-11-15', 'send it'],
    ['send it next week', '2026-11-22', 'send it'],
    ['send it in two weeks', '2026-11-29', 'send it'],
    ['send it by the 5th', '2026-12-05', 'send it'],
    ['send it by the 20th', '2026-11-20', 'send it'],
    ['send it by the end of next year', '2027-12-31', 'send it'],
  ])('MEM-9 reads the day in: %s', (text, day, rest) => {
    const deadline = readDeadline(text, at, 'UTC')
    expect(deadline && { day: formatDay(deadline.day), rest: deadline.rest }).toEqual({ day, rest })
  })

  it.each(['send it', 'send it by hand', 'send it by 30 February', 'Friday is a day for it'])(
    'MEM-9 reads none in: %s',
    (text) => {
      expect(readDeadline(text, at, 'UTC')).toBeUndefined()
    },
  )

  it("MEM-9 counts from the user's local day", () => {
    const late = Date.UTC(2026, 10, 15, 23)
    expect(readDeadline('tomorrow', late, 'Asia/Tokyo')?.day).toEqual({ year: 2026, month: 11, day: 17 })
    expect(readDeadline('tomorrow', late, 'America/New_York')?.day).toEqual({ year: 2026, month: 11, day: 16 })
  })

  it('MEM-9 accepts any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void readDeadline(`${text} by ${text}`, at, 'UTC')))
  })
})
