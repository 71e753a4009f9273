import { describe, expect, it } from 'vitest'
import { cronWords, startRepeat, toCron } from './repeat.ts'

describe('toCron', () => {
  it.each([
    [{}, '0 9 * * *'],
    [{ kind: 'weekdays', time: '07:45' }, '45 7 * * 1-5'],
    [{ kind: 'weekly', weekday: '5' }, '0 9 * * 5'],
    [{ kind: 'monthly', day: '15' }, '0 9 15 * *'],
    [{ kind: 'minutes', minutes: '20' }, '*/20'],
    [{ kind: 'cron', cron: '5 4 * * sun' }, '5 4 * * sun'],
  ] as const)('writes %j as %j', (chosen, cron) => {
    expect(toCron({ ...startRepeat, ...chosen })).toBe(cron)
  })

  it.each([{ time: '' }, { kind: 'minutes', minutes: '' }, { kind: 'monthly', day: '' }] as const)(
    'is empty where something is missing: %j',
    (chosen) => {
      expect(toCron({ ...startRepeat, ...chosen })).toBe('')
    },
  )
})

describe('cronWords', () => {
  it.each([
    ['*/30', 'every 30 minutes'],
    ['*/5 * * * *', 'every 5 minutes'],
    ['0 * * * *', 'every hour'],
    ['0 7 * * *', 'at 7:00 AM every day'],
    ['30 8 * * 1-5', 'at 8:30 AM on weekdays'],
    ['0 9 * * mon,thu', 'at 9:00 AM every Monday and Thursday'],
    ['0 9 * * 7', 'at 9:00 AM every Sunday'],
    ['0 8,12,18 * * *', 'at 8:00 AM, 12:00 PM, and 6:00 PM every day'],
    ['0 9 1,22 * *', 'at 9:00 AM on the 1st and 22nd of every month'],
    ['15 6 13 12 *', 'at 6:15 AM on the 13th of December'],
  ])('says %s as "%s"', (expression, words) => {
    // The locale puts a narrow space before AM.
    expect(cronWords(expression)?.replaceAll('\u202f', ' ')).toBe(words)
  })

  it.each(['', 'tomorrow', '0 9 13 * 5', '0 9-17 * * *', '1 2 3', '0 9 * * * *'])(
    'says nothing of %j',
    (expression) => {
      expect(cronWords(expression)).toBeUndefined()
    },
  )
})
