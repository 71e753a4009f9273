import { describe, expect, it } from 'vitest'
import { startRepeat, toCron } from './repeat.ts'

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
