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
    ['0 7 * * *', 'at 07:00 every day'],
    ['30 8 * * 1-5', 'at 08:30 on weekdays'],
    ['0 9 * * mon,thu', 'at 09:00 every Monday and Thursday'],
    ['0 9 * * 7', 'at 09:00 every Sunday'],
    ['0 8,12,18 * * *', 'at 08:00, 12:00, and 18:00 every day'],
    ['0 9 1,22 * *', 'at 09:00 on the 1st and 22nd of every month'],
    ['15 6 13 12 *', 'at 06:15 on the 13th of December'],
  ])('says %s as "%s"', (expression, words) => {
    expect(cronWords(expression)).toBe(words)
  })

  it.each(['', 'tomorrow', '0 9 13 * 5', '0 9-17 * * *', '1 2 3', '0 9 * * * *'])(
    'says nothing of %j',
    (expression) => {
      expect(cronWords(expression)).toBeUndefined()
    },
  )
})
