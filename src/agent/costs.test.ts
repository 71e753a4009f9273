import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openScriptedFamiliar, type ScriptedFamiliar } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../test/support/scripted-model.ts'
import { localDay, toUsd } from '../base/money.ts'
import type { CostLedgerRow } from '../storage/tables.ts'
import { type Costs, createCosts } from './costs.ts'

const now = new Date(2026, 2, 30, 15).getTime()
const daysAgo = (days: number, hour = 12) => new Date(2026, 2, 30 - days, hour).getTime()

describe('spending reports', () => {
  let familiar: ScriptedFamiliar
  let costs: Costs
  let rows = 0
  beforeEach(async () => {
    familiar = await openScriptedFamiliar({ model: createScriptedModel({ script: [] }) })
    const clock = { now: () => now, after: () => () => undefined }
    const limits = { perMessageNanousd: 500, perBuildNanousd: null, perDayNanousd: 5_000, perMonthNanousd: null }
    costs = createCosts({ database: familiar.database, clock, limits: () => limits })
  })
  afterEach(() => familiar.close())

  async function called(row: Partial<CostLedgerRow>): Promise<void> {
    rows += 1
    const usual = {
      id: `row-${rows}`,
      user_id: familiar.userId,
      session_id: 'one',
      turn_id: 'turn',
      purpose: 'primary',
      model: 'a/large',
      state: 'settled' as const,
      at: daysAgo(0),
      input_tokens: 100,
      output_tokens: 10,
      cache_read_tokens: 40,
      cache_write_tokens: 5,
      reserved_nanousd: 0,
      cost_nanousd: 300,
    }
    await familiar.database.write(async (writer) => {
      await writer
        .insertInto('cost_ledger')
        .values({ ...usual, ...row })
        .execute()
    })
  }

  it('COST-1 lists every day, including days without spending and across a change of the clock', async () => {
    await called({ at: daysAgo(0, 0) })
    await called({ at: daysAgo(1, 23) })
    await called({ at: daysAgo(6) })
    await called({ at: daysAgo(7) })
    const { days, total } = await costs.spending(familiar.userId, 'week')
    expect(days.map(({ day, total: { calls } }) => [day, calls])).toEqual([
      ['2026-03-24', 1],
      ['2026-03-25', 0],
      ['2026-03-26', 0],
      ['2026-03-27', 0],
      ['2026-03-28', 0],
      ['2026-03-29', 1],
      ['2026-03-30', 1],
    ])
    expect(total).toMatchObject({ calls: 3, nanousd: 900, cacheReadTokens: 120 })
    const all = await costs.spending(familiar.userId, 'all')
    expect([all.days[0]?.day, all.days.at(-1)?.day, all.total.calls]).toEqual(['2026-03-23', localDay(now), 4])
  })

  it('COST-1 groups by model, purpose and session, most expensive first; calls without a price are counted separately', async () => {
    await called({ model: 'b/local', cost_nanousd: null, session_id: null, purpose: 'extraction' })
    await called({ cost_nanousd: 700, session_id: 'two' })
    await called({})
    const spending = await costs.spending(familiar.userId, 'today')
    expect(spending.total).toMatchObject({ calls: 3, unpricedCalls: 1, nanousd: 1_000 })
    expect(spending.byModel.map(({ name, unpricedCalls }) => [name, unpricedCalls])).toEqual([
      ['a/large', 0],
      ['b/local', 1],
    ])
    expect(spending.byPurpose.map(({ name, nanousd }) => [name, nanousd])).toEqual([
      ['primary', 1_000],
      ['extraction', 0],
    ])
    expect(spending.bySession.map(({ name }) => name)).toEqual(['two', 'one', null])
    expect(spending.days[0]?.byModel[0]).toMatchObject({ name: 'a/large', calls: 2 })
  })

  it('COST-1 counts interrupted calls, but neither running nor failed ones', async () => {
    await called({ state: 'interrupted' })
    await called({ state: 'reserved', cost_nanousd: null })
    await called({ state: 'failed', cost_nanousd: 0 })
    expect((await costs.spending(familiar.userId, 'today')).total).toMatchObject({ calls: 1, unpricedCalls: 0 })
  })

  it('COST-1 is empty for a user without spending', async () => {
    const { days, total, bySession } = await costs.spending(familiar.userId, 'all')
    expect([days.length, total.calls, bySession]).toEqual([1, 0, []])
  })

  it('COST-1 stops when the caller aborts', async () => {
    await expect(costs.spending(familiar.userId, 'year', AbortSignal.abort())).rejects.toThrow()
  })

  it('COST-2 the budgets are listed with the amount spent; for messages and builds, with the most expensive of today', async () => {
    await called({ turn_id: 'first', cost_nanousd: 100 })
    await called({ turn_id: 'first', cost_nanousd: 150 })
    await called({ turn_id: 'second', cost_nanousd: 200 })
    await called({ turn_id: 'built', purpose: 'builder', cost_nanousd: 900 })
    await called({ turn_id: 'yesterday', at: daysAgo(1), cost_nanousd: 4_000 })
    await familiar.database.write(async (writer) => {
      const total = { user_id: familiar.userId, spent_nanousd: 1_350, reserved_nanousd: 50 }
      await writer
        .insertInto('cost_totals')
        .values({ ...total, period: 'day:2026-03-30' })
        .execute()
    })
    expect(await costs.budgets(familiar.userId)).toEqual({
      section: 'budget',
      caps: [
        { name: 'message', limitUsd: toUsd(500), spentUsd: toUsd(250), reservedUsd: toUsd(0) },
        { name: 'build', limitUsd: null, spentUsd: toUsd(900), reservedUsd: toUsd(0) },
        { name: 'day', limitUsd: toUsd(5_000), spentUsd: toUsd(1_350), reservedUsd: toUsd(50) },
        { name: 'month', limitUsd: null, spentUsd: toUsd(0), reservedUsd: toUsd(0) },
      ],
    })
  })

  it('SUB-1 the cost of a turn includes the calls of its sub-agents', async () => {
    await called({ at: daysAgo(0, 11) })
    await called({ at: daysAgo(0, 12), session_id: 'sub', purpose: 'subagent', cost_nanousd: null })
    await called({ turn_id: 'other' })
    const calls = await costs.callsOfTurn(familiar.userId, 'turn')
    expect(calls.map(({ sessionId, purpose, nanousd }) => [sessionId, purpose, nanousd])).toEqual([
      ['one', 'primary', 300],
      ['sub', 'subagent', null],
    ])
    expect(await costs.callsOfTurn('somebody else', 'turn')).toEqual([])
  })
})
