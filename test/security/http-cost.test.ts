import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseWire } from '../../src/protocol/operation.ts'
import {
  type BudgetsReply,
  budgetsReplySchema,
  type RequestsReply,
  requestsReplySchema,
  type SpendingReply,
  spendingReplySchema,
  type TraceReply,
  traceReplySchema,
} from '../../src/protocol/status.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const usage = { inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 600, cacheWriteTokens: 50 }

describe('cost and traces over HTTP', () => {
  let served: ServedFamiliar
  let turnId: string
  beforeAll(async () => {
    const model = createScriptedModel({
      script: (_request, call) =>
        call % 2 === 1 ? { toolCalls: [{ name: 'look', input: { call } }], usage } : { text: 'Done', usage },
    })
    served = await serveFamiliar({ model, tools: [toolOf('look', async () => said('there'))] })
    for (let turn = 0; turn < 3; turn += 1) turnId = (await served.familiar.say('Look for it')).turnId
  })
  afterAll(() => served.close())

  it('COST-1 reports costs by day, model, purpose and session', async () => {
    const { json, status } = await served.call({ path: '/api/v1/cost/spending?period=week' })
    expect(status).toBe(200)
    const reply: SpendingReply = parseWire(spendingReplySchema, json)
    expect(reply.days).toHaveLength(7)
    expect(reply.total).toMatchObject({ calls: 6, unpriced_calls: 0, input_tokens: 6_000, cache_read_tokens: 3_600 })
    expect(reply.by_model).toMatchObject([{ name: 'scripted/main', calls: 6 }])
    expect(reply.by_purpose).toMatchObject([{ name: 'primary', calls: 6 }])
    expect(reply.by_session).toMatchObject([{ calls: 6 }])
    expect(reply.days.at(-1)?.by_model).toMatchObject([{ tokens: 6_600 }])
    expect((await served.call({ path: '/api/v1/cost/spending?period=decade' })).status).toBe(400)
  })

  it('COST-2 reports the budgets with their usage', async () => {
    const { json } = await served.call({ path: '/api/v1/cost/caps' })
    const { section, caps }: BudgetsReply = parseWire(budgetsReplySchema, json)
    expect([section, caps.map(({ name, limit_usd }) => [name, limit_usd])]).toEqual([
      'budget',
      [
        ['message', 0.5],
        ['build', 0.5],
        ['day', 5],
        ['month', null],
      ],
    ])
    expect(caps[2]?.spent_usd).toBeGreaterThan(0)
  })

  it('PAGE-6 reports a turn as steps with their times, by default the newest', async () => {
    const { json } = await served.call({ path: '/api/v1/sessions/main/trace' })
    const trace: TraceReply = parseWire(traceReplySchema, json)
    expect(trace).toMatchObject({ turn_id: turnId, outcome: 'completed', message: 'Look for it', other_calls: [] })
    expect(trace.spans.map(({ kind, name }) => [kind, name])).toEqual([
      ['model', 'scripted/main'],
      ['tool', 'look'],
      ['model', 'scripted/main'],
    ])
    expect((await served.call({ path: `/api/v1/sessions/main/trace?turn=${turnId}` })).json).toEqual(json)
    expect((await served.call({ path: '/api/v1/sessions/main/trace?turn=nothing' })).status).toBe(404)
  })

  it('PAGE-6 reports the requests of a session page by page, newest first, each once', async () => {
    const seen: number[] = []
    let before: number | null = null
    do {
      const path = `/api/v1/sessions/main/requests?limit=4${before === null ? '' : `&before=${before}`}`
      const page: RequestsReply = parseWire(requestsReplySchema, (await served.call({ path })).json)
      expect(page.requests[0]?.usage).toMatchObject({ input_tokens: 1_000, cache_read_tokens: 600 })
      seen.push(...page.requests.map(({ seq }) => seq))
      before = page.before
    } while (before !== null)
    expect(seen).toHaveLength(6)
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => b - a))
  })
})
