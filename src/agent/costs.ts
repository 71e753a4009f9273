import { setImmediate as nextRound } from 'node:timers/promises'
import type { ExpressionBuilder } from 'kysely'
import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { localDay, monthOf, startOfLocalDay, toUsd } from '../base/money.ts'
import type { costPeriodSchema, costReplySchema } from '../protocol/api.ts'
import type { Usage } from '../protocol/messages.ts'
import type { budgetsReplySchema, spendingReplySchema } from '../protocol/status.ts'
import { type Database, reusableQuery } from '../storage/database.ts'
import type { CostLedgerRow, Tables } from '../storage/tables.ts'
import type { BudgetLimits } from './ledger.ts'

export interface LedgerCall {
  at: number
  sessionId: string | null
  purpose: string
  model: string
  state: CostLedgerRow['state']
  usage: Usage
  /** Null if the model has no price. */
  nanousd: number | null
  costUsd: number | null
}

export type Costs = ReturnType<typeof createCosts>

/** The cost figures of one user, read only. */
export function createCosts(dependencies: {
  database: Database
  clock: Clock
  limits: (userId: string) => BudgetLimits
}) {
  const { database, clock } = dependencies

  async function dearestToday(userId: string): Promise<{ message: number; build: number }> {
    const rows = await database.read
      .selectFrom('cost_ledger')
      .select((select) => ['turn_id', 'purpose', select.fn.sum('cost_nanousd').as('spent')])
      .where('user_id', '=', userId)
      .where('at', '>=', startOfLocalDay(clock.now()))
      .where('turn_id', 'is not', null)
      .groupBy(['turn_id', 'purpose'])
      .execute()
    const dearest = { message: 0, build: 0 }
    for (const calls of Map.groupBy(rows, (row) => row.turn_id).values()) {
      const kind = calls.some((row) => row.purpose === 'builder') ? 'build' : 'message'
      const spent = calls.reduce((sum, row) => sum + Number(row.spent ?? 0), 0)
      dearest[kind] = Math.max(dearest[kind], spent)
    }
    return dearest
  }

  return {
    spending: (userId: string, period: SpendingPeriod, signal?: AbortSignal) =>
      reportSpending(database, { userId, period, now: clock.now(), signal }),
    /** `section` is their table in the config. */
    async budgets(userId: string): Promise<z.infer<typeof budgetsReplySchema>> {
      const limits = dependencies.limits(userId)
      const { perMessageNanousd, perBuildNanousd = perMessageNanousd } = limits
      const now = clock.now()
      const totals = await database.read
        .selectFrom('cost_totals')
        .selectAll()
        .where('user_id', '=', userId)
        .where('period', 'in', [`day:${localDay(now)}`, `month:${monthOf(now)}`])
        .execute()
      const used = (kind: 'day' | 'month') => {
        const row = totals.find(({ period }) => period.startsWith(`${kind}:`))
        return [Number(row?.spent_nanousd ?? 0), Number(row?.reserved_nanousd ?? 0)] as const
      }
      const dearest = await dearestToday(userId)
      return {
        section: limits.section ?? 'budget',
        caps: [
          { name: 'message', ...inUsd(perMessageNanousd, dearest.message) },
          { name: 'build', ...inUsd(perBuildNanousd, dearest.build) },
          { name: 'day', ...inUsd(limits.perDayNanousd, ...used('day')) },
          { name: 'month', ...inUsd(limits.perMonthNanousd, ...used('month')) },
        ],
      }
    },
    /** All that counts to a turn: its own calls, and those of what worked for it. In order. */
    async callsOfTurn(userId: string, turnId: string): Promise<LedgerCall[]> {
      const rows = await database.read
        .selectFrom('cost_ledger')
        .selectAll()
        .where('turn_id', '=', turnId)
        .where('user_id', '=', userId)
        .orderBy('at')
        .orderBy('id')
        .execute()
      return rows.map(callOf)
    },
  }
}

function inUsd(limit: number | null, spent: number, reserved = 0) {
  return { limitUsd: toUsd(limit), spentUsd: toUsd(spent), reservedUsd: toUsd(reserved) }
}

function callOf(row: CostLedgerRow): LedgerCall {
  const nanousd = row.cost_nanousd === null ? null : Number(row.cost_nanousd)
  return {
    at: Number(row.at),
    sessionId: row.session_id,
    purpose: row.purpose,
    model: row.model,
    state: row.state,
    usage: {
      ...tokensIn(row),
      ...((row.state === 'estimated' || row.state === 'interrupted') && { isEstimate: true }),
    },
    nanousd,
    costUsd: toUsd(nanousd),
  }
}

/** The states of calls that cost something: reserved or failed calls are not spent. */
const spentStates = ['settled', 'estimated', 'interrupted'] as const

/** A sum over calls. Money is in nano-dollars, and of the priced calls alone. */
type Spent = typeof nothingSpent

const nothingSpent = {
  calls: 0,
  /** Calls of models without a price: what they cost is unknown, not zero. */
  unpricedCalls: 0,
  /** Calls that the provider counted nothing of, or that broke off: what they cost is an estimate. */
  estimatedCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  nanousd: 0,
}

function addSpent(sum: Spent, more: Readonly<Spent>): void {
  for (const key of Object.keys(nothingSpent) as (keyof Spent)[]) sum[key] += more[key]
}

function withUsd(sum: Spent) {
  return { ...sum, tokens: sum.inputTokens + sum.outputTokens, costUsd: toUsd(sum.nanousd) }
}

function createSpentByName<Name>() {
  const sums = new Map<Name, Spent>()
  return {
    add(name: Name, more: Readonly<Spent>): void {
      const sum = sums.get(name) ?? { ...nothingSpent }
      sums.set(name, sum)
      addSpent(sum, more)
    },
    /** Most expensive first; with no prices, most calls first. */
    dearest() {
      const lines = [...sums].map(([name, sum]) => ({ name, ...withUsd(sum) }))
      return lines.sort((a, b) => b.nanousd - a.nanousd || b.calls - a.calls)
    },
  }
}

const daysOf = { today: 1, week: 7, month: 30, quarter: 91, year: 365 }
type SpendingPeriod = keyof typeof daysOf | 'all'

const maxSessions = 50

/** A clock that was once wrong must not ask for centuries of days. */
const maxDays = 3_660

/**
 * Spending day by day. Each day is its own query, so that others can run in between: the database uses one thread, and
 * a million calls take a second.
 */
async function reportSpending(
  database: Database,
  query: { userId: string; period: SpendingPeriod; now: number; signal: AbortSignal | undefined },
) {
  const { userId, period, now, signal } = query
  const total = { ...nothingSpent }
  /** Every day of the period in order, also those without a call. */
  const days: z.infer<typeof spendingReplySchema>['days'] = []
  const byModel = createSpentByName<string>()
  const byPurpose = createSpentByName<string>()
  /** Null: work that belongs to no conversation. */
  const bySession = createSpentByName<string | null>()
  const count = period === 'all' ? await daysOnRecord(database, userId, now) : daysOf[period]
  for (let back = count - 1; back >= 0; back -= 1) {
    signal?.throwIfAborted()
    const from = startOfLocalDay(now, back)
    const { rows } = await selectDay(database.read, { userId, from, to: startOfLocalDay(now, back - 1) })
    const day = { ...nothingSpent }
    const modelsOfDay = createSpentByName<string>()
    for (const row of rows) {
      const spent = spentIn(row)
      addSpent(day, spent)
      modelsOfDay.add(row.model, spent)
      byModel.add(row.model, spent)
      byPurpose.add(row.purpose, spent)
      bySession.add(row.session_id, spent)
    }
    addSpent(total, day)
    days.push({ day: localDay(from), total: withUsd(day), byModel: modelsOfDay.dearest() })
    if (rows.length > 0) await nextRound()
  }
  const sessions = bySession.dearest()
  return {
    period,
    total: withUsd(total),
    days,
    byModel: byModel.dearest(),
    byPurpose: byPurpose.dearest(),
    bySession: sessions.slice(0, maxSessions).map((line) => ({ ...line, sessionId: line.name })),
    sessionsLeftOut: Math.max(0, sessions.length - maxSessions),
  }
}

async function daysOnRecord(database: Database, userId: string, now: number): Promise<number> {
  const first = await database.read
    .selectFrom('cost_ledger')
    .select('at')
    .where('user_id', '=', userId)
    .orderBy('at')
    .limit(1)
    .executeTakeFirst()
  if (!first) return 1
  const between = startOfLocalDay(now) - startOfLocalDay(Number(first.at))
  // Days on which the clock is changed are an hour longer or shorter.
  return Math.min(maxDays, Math.max(0, Math.round(between / 86_400_000)) + 1)
}

/** Uses the index on user and time: rows outside the day are not read. */
const selectDay = reusableQuery((database, of: { userId: string; from: number; to: number }) =>
  database
    .selectFrom('cost_ledger')
    .select(['model', 'purpose', 'session_id'])
    .select(sums)
    .where('user_id', '=', of.userId)
    .where('at', '>=', of.from)
    .where('at', '<', of.to)
    .where('state', 'in', [...spentStates])
    .groupBy(['model', 'purpose', 'session_id']),
)

function sums(select: ExpressionBuilder<Tables, 'cost_ledger'>) {
  return [
    select.fn.countAll().as('calls'),
    select.fn.count('cost_nanousd').as('priced_calls'),
    select.fn.sum('input_tokens').as('input_tokens'),
    select.fn.sum('output_tokens').as('output_tokens'),
    select.fn.sum('cache_read_tokens').as('cache_read_tokens'),
    select.fn.sum('cache_write_tokens').as('cache_write_tokens'),
    select.fn.sum('cost_nanousd').as('cost_nanousd'),
    select.fn.countAll().filterWhere('state', '!=', 'settled').as('estimated_calls'),
  ] as const
}

function spentIn(row: Omit<Awaited<ReturnType<typeof selectDay>>['rows'][number], 'purpose' | 'session_id'>): Spent {
  return {
    calls: Number(row.calls),
    unpricedCalls: Number(row.calls) - Number(row.priced_calls),
    estimatedCalls: Number(row.estimated_calls),
    ...tokensIn(row),
    nanousd: Number(row.cost_nanousd ?? 0),
  }
}

function tokensIn(row: { [Name in 'input' | 'output' | 'cache_read' | 'cache_write' as `${Name}_tokens`]: unknown }) {
  return {
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cacheReadTokens: Number(row.cache_read_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
  }
}

export type CostPeriod = z.infer<typeof costPeriodSchema>

export type CostReport = z.infer<typeof costReplySchema>

export async function reportCost(
  database: Database,
  query: { userId: string; period: CostPeriod; now: number },
): Promise<CostReport> {
  const daysBack = { today: 0, week: 6, month: 29, all: null }[query.period]
  const since = daysBack === null ? 0 : startOfLocalDay(query.now, daysBack)
  const rows = await database.read
    .selectFrom('cost_ledger')
    .select('model')
    .select(sums)
    .where('user_id', '=', query.userId)
    .where('at', '>=', since)
    .where('state', 'in', [...spentStates])
    .groupBy('model')
    .orderBy('model')
    .execute()
  const byModel = rows.map((row) => ({
    model: row.model,
    calls: Number(row.calls),
    ...tokensIn(row),
    costUsd: toUsd(row.cost_nanousd === null ? null : Number(row.cost_nanousd)),
    estimatedCalls: Number(row.estimated_calls),
  }))
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  return {
    period: query.period,
    totalUsd: toUsd(rows.reduce((total, row) => total + Number(row.cost_nanousd ?? 0), 0)),
    calls: sum(byModel.map((row) => row.calls)),
    unpricedCalls: sum(byModel.filter((row) => row.costUsd === null).map((row) => row.calls)),
    estimatedCalls: sum(byModel.map((row) => row.estimatedCalls)),
    byModel,
  }
}
