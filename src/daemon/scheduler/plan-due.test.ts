import fastCheck from 'fast-check'
import { expect, it } from 'vitest'
import { parseCronExpression } from '../../base/cron-expression.ts'
import { planDue } from './deliver-run.ts'

const hour = 60 * 60_000
const most = { latest: 1, all: 10, none: 1 }

/** Every time between two moments, in order. */
function walk(expression: string, timeZone: string, from: number, to: number): number[] {
  const cron = parseCronExpression(expression, timeZone)
  const times: number[] = []
  let time = cron.ok ? cron.value.next(from - 1) : undefined
  while (cron.ok && time !== undefined && time <= to) {
    times.push(time)
    time = cron.value.next(time)
  }
  return times
}

it('SCHED-1 over any downtime and clock change, each time starts or is missed, once, and the next is in the future', () => {
  const expression = fastCheck.constantFrom('*/30', '0 7 * * *', '30 2 * * *', '15 */3 * * 1-5', '0 0 1 * *')
  const timeZone = fastCheck.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe')
  const catchUp = fastCheck.constantFrom('latest', 'all', 'none')
  const start = fastCheck.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 31) })
  const downMs = fastCheck.integer({ min: 0, max: 72 * hour })
  fastCheck.assert(
    fastCheck.property(expression, timeZone, catchUp, start, downMs, (expression, timeZone, catchUp, start, downMs) => {
      const [dueAt = start] = walk(expression, timeZone, start, start + 40 * 24 * hour)
      const now = dueAt + downMs
      const plan = planDue({ kind: 'cron', expression, timeZone, catchUp }, dueAt, now)
      const all = walk(expression, timeZone, dueAt, now).slice(-50)
      expect([...plan.missed, ...plan.begins].sort((a, b) => a - b)).toEqual(all)
      expect(plan.begins).toEqual(catchUp === 'none' && plan.begins.length === 0 ? [] : all.slice(-most[catchUp]))
      expect(plan.next).toBeGreaterThan(now)
    }),
    { numRuns: 100 },
  )
})

it('SCHED-1 a time that is due now starts whatever the policy; a minute later it is missed', () => {
  const dueAt = Date.parse('2026-11-15T09:00:00Z')
  const once = { kind: 'once', expression: '', timeZone: 'UTC', catchUp: 'none' } as const
  expect(planDue(once, dueAt, dueAt + 60_000)).toEqual({ begins: [dueAt], missed: [], next: null })
  expect(planDue(once, dueAt, dueAt + 60_001)).toEqual({ begins: [], missed: [dueAt], next: null })
  expect(planDue(once, dueAt, dueAt - 1)).toEqual({ begins: [], missed: [], next: null })
})
