import { afterEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { openScriptedFamiliar, type ScriptedFamiliar, said, toolOf } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel, type Script } from '../../test/support/scripted-model.ts'
import { testSize } from '../../test/support/test-size.ts'
import { costNanousd } from '../base/money.ts'
import { reportCost } from './costs.ts'

let familiar: ScriptedFamiliar | undefined

afterEach(async () => {
  await familiar?.close()
  familiar = undefined
})

async function open(script: Script, options: Partial<Parameters<typeof openScriptedFamiliar>[0]> = {}, rates?: null) {
  const model = createScriptedModel({ script, ...(rates === null && { info: { costPerMtok: null } }) })
  familiar = await openScriptedFamiliar({ model, ...options })
  return { familiar, model }
}

const report = (opened: ScriptedFamiliar) =>
  reportCost(opened.database, { userId: opened.userId, period: 'all', now: Date.now() })

describe('COST-1 the ledger', () => {
  const rounds = testSize({ whole: 20, onPostgres: 2 })

  it(`COST-1 over ${rounds * 50} calls equals the sum of the usages`, { timeout: 180_000 }, async () => {
    let input = 0
    let output = 0
    let cost = 0
    const script: Script = (_request, call) => {
      const usage = {
        inputTokens: 900 + call,
        outputTokens: call % 97,
        cacheReadTokens: call % 500,
        cacheWriteTokens: call % 13,
      }
      input += usage.inputTokens
      output += usage.outputTokens
      cost += costNanousd(usage, [3, 15, 0.3, 3.75]) ?? 0
      return { text: 'ok', usage }
    }
    const toml = '[budget]\nper_day_usd = 1000.0\n[compaction]\nthreshold_tokens = 1000000\n'
    const opened = await open(script, { toml })
    for (let session = 0; session < rounds; session += 1) {
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => opened.familiar.say(`${n}`, { contact: `c${session}-${n}` })),
      )
    }
    const totals = await report(opened.familiar)
    expect(totals.calls).toBe(rounds * 50)
    expect(totals.byModel[0]).toMatchObject({ inputTokens: input, outputTokens: output })
    expect(Math.round(totals.totalUsd * 1e9)).toBe(cost)
    const day = await opened.familiar.database.read
      .selectFrom('cost_totals')
      .selectAll()
      .where('period', 'like', 'day:%')
      .execute()
    expect(day).toMatchObject([{ spent_nanousd: cost, reserved_nanousd: 0 }])
  })

  it('COST-1 a model without a price is unpriced, not free', async () => {
    const opened = await open([{ text: 'ok' }], {}, null)
    expect((await opened.familiar.say('hi')).costUsd).toBeNull()
    expect(await report(opened.familiar)).toMatchObject({ totalUsd: 0, unpricedCalls: 1, byModel: [{ costUsd: null }] })
  })
})

describe('COST-2 budgets', () => {
  // 4,096 output tokens at $15 a million are $0.06144 at worst; the settled cost of each call is $0.06.
  const dear = { text: 'ok', usage: { inputTokens: 0, outputTokens: 4_000 } }

  it('COST-2 a reached budget gives a clear reply and makes no call', async () => {
    const opened = await open(() => dear, { toml: '[budget]\nper_day_usd = 0.18\n' })
    const ends = []
    for (let n = 0; n < 5; n += 1) ends.push(await opened.familiar.say(`message ${n}`))
    expect(ends.map((end) => end.outcome)).toEqual(['completed', 'completed', 'budget', 'budget', 'budget'])
    expect(ends[2]?.text).toMatch(/\$0\.12 of \$0\.18 is spent for today \(budget\.per_day_usd\)/)
    expect(opened.model.requests).toHaveLength(2)
  })

  it('COST-2 concurrent turns never overspend', async () => {
    const opened = await open(() => dear, {
      toml: '[budget]\nper_day_usd = 0.5\n[sessions]\nmax_concurrent_turns = 20\n',
    })
    await Promise.all(Array.from({ length: 20 }, (_, n) => opened.familiar.say('go', { contact: `c${n}` })))
    const { totalUsd } = await report(opened.familiar)
    expect(totalUsd).toBeLessThanOrEqual(0.5)
    expect(totalUsd).toBeGreaterThan(0.3)
  })

  it('COST-2 one message cannot spend more than its own budget', async () => {
    const look = toolOf('look', async (input) => said(JSON.stringify(input)))
    const script: Script = (_request, call) => ({
      toolCalls: [{ name: 'look', input: { call } }],
      usage: { outputTokens: 4_000 },
    })
    const opened = await open(script, { tools: [look], toml: '[budget]\nper_message_usd = 0.18\n' })
    const end = await opened.familiar.say('go')
    expect(end.outcome).toBe('budget')
    expect(end.text).toContain('budget.per_message_usd')
    expect(opened.model.requests).toHaveLength(2)
  })

  it('COST-2 the next day is a new day', async () => {
    const clock = createManualClock()
    const model = createScriptedModel({ script: () => dear, clock })
    familiar = await openScriptedFamiliar({ model, clock, toml: '[budget]\nper_day_usd = 0.1\n' })
    expect((await familiar.say('one')).outcome).toBe('completed')
    expect((await familiar.say('two')).outcome).toBe('budget')
    await clock.advance(24 * 60 * 60 * 1_000)
    expect((await familiar.say('three')).outcome).toBe('completed')
  })

  it('COST-2 a day of idling calls no model', async () => {
    const clock = createManualClock()
    const model = createScriptedModel({ script: [], clock })
    familiar = await openScriptedFamiliar({ model, clock })
    await familiar.conversations.recover()
    await clock.advance(24 * 60 * 60 * 1_000)
    expect(model.requests).toHaveLength(0)
    expect(clock.timers()).toBe(0)
  })
})
