import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import {
  type CostRates,
  costNanousd,
  formatNanousd,
  localDay,
  monthOf,
  toNanousd,
  worstCaseNanousd,
} from '../base/money.ts'
import type { Usage } from '../protocol/messages.ts'
import type { Plan } from '../security/users.ts'
import { type Database, reusableQuery, type Writer } from '../storage/database.ts'
import type { CostLedgerRow } from '../storage/tables.ts'

export interface BudgetLimits {
  perMessageNanousd: number | null
  /** Of the turn that builds a capability; as for a message where it is absent. */
  perBuildNanousd?: number | null
  perDayNanousd: number | null
  perMonthNanousd: number | null
  /** Their table in the config; `budget` by default. */
  section?: string
}

interface PlannedWork {
  userId: string
  sessionId: string | null
  turnId: string | null
  purpose: string
  model: string
  inputTokens: number
}

interface PlannedCall extends PlannedWork {
  rates: CostRates | null
  maxOutputTokens: number
}

export type Reserved = { ok: true; id: string; userId: string; at: number; nanousd: number }
export type Reservation = Reserved | { ok: false; message: string }

export type Ledger = ReturnType<typeof createLedger>

/**
 * The record of spending. Every model call goes through here: its worst case is reserved before the call, and the
 * provider's count is settled after it. A call that does not fit every budget is not made.
 */
export function createLedger(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  limits: (userId: string) => BudgetLimits
}) {
  const { database, clock, ids, limits } = dependencies

  async function reserveAmount(writer: Writer, work: PlannedWork, amount: number): Promise<Reservation> {
    const at = clock.now()
    const refusal = amount > 0 ? await firstLimitPassed(writer, work, amount, at, limits(work.userId)) : undefined
    if (refusal) return { ok: false, message: refusal }
    const id = ids.next()
    await insertReserved(writer, { ...work, id, at, amount })
    if (amount > 0) await addToTotals(writer, work.userId, at, { spent: 0, reserved: amount })
    return { ok: true, id, userId: work.userId, at, nanousd: amount }
  }

  async function settleAmount(writer: Writer, reserved: Reserved, usage: Usage, cost: number | null): Promise<void> {
    const { isEstimate, ...counted } = usage
    const state = isEstimate ? 'estimated' : 'settled'
    const settled = await settleReserved(writer, { ...counted, id: reserved.id, state, cost })
    if (Number(settled.numAffectedRows) === 0) return
    const change = { spent: cost ?? 0, reserved: -reserved.nanousd }
    if (change.spent !== 0 || change.reserved !== 0) await addToTotals(writer, reserved.userId, reserved.at, change)
  }

  return {
    /** Inside a unit of the caller's, so that a step and the money for the next one are one commit. */
    reserve: (writer: Writer, call: PlannedCall) =>
      reserveAmount(writer, call, worstCaseNanousd(call.inputTokens, call.maxOutputTokens, call.rates)),
    /** For work that is not priced by tokens alone, such as a picture. */
    reserveAmount,
    /** Writes what the call really took, inside the unit that records its response. */
    settle: (writer: Writer, reserved: Reserved, usage: Usage, rates: CostRates | null) =>
      settleAmount(writer, reserved, usage, costNanousd(usage, rates)),
    settleAmount,
    /** The call had no result: its reservation is released. */
    async release(reservationId: string) {
      await database.write((writer) => close(writer, reservationId, 'failed', () => 0))
    },
    /** The call broke off during the response: it counts with its known tokens, because the provider charges them. */
    async interrupt(reservationId: string, outputTokens: number, rates: CostRates | null) {
      await database.write((writer) =>
        close(writer, reservationId, 'interrupted', (row) => {
          const usage = { inputTokens: row.input_tokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 }
          return costNanousd(usage, rates)
        }),
      )
    },
    /** It is not known whether the provider did the work: it counts at its worst case. */
    async interruptAmount(reservationId: string) {
      await database.write((writer) =>
        close(writer, reservationId, 'interrupted', (row) => Number(row.reserved_nanousd)),
      )
    },
    /**
     * At start: calls that were under way when the daemon died count at their worst case, for the provider may charge.
     * With a session and turn only theirs: those whose end could not be written, because the disk was full. With a time
     * only those that are older: of a daemon that died beside others.
     */
    async closeInterrupted(of?: { sessionId: string; turnId: string | null } | { before: number }): Promise<number> {
      let query = database.read.selectFrom('cost_ledger').select('id').where('state', '=', 'reserved')
      if (of && 'before' in of) query = query.where('at', '<', of.before)
      else if (of) {
        query = query.where('session_id', '=', of.sessionId).where('turn_id', of.turnId ? '=' : 'is', of.turnId)
      }
      const open = await query.execute()
      for (const { id } of open) {
        await database.write((writer) => close(writer, id, 'interrupted', (row) => Number(row.reserved_nanousd)))
      }
      return open.length
    },
  }
}

async function close(
  writer: Writer,
  id: string,
  state: 'failed' | 'interrupted',
  costOf: (row: CostLedgerRow) => number | null,
): Promise<void> {
  const row = await writer.selectFrom('cost_ledger').selectAll().where('id', '=', id).executeTakeFirst()
  if (row?.state !== 'reserved') return
  const cost = costOf(row)
  await writer.updateTable('cost_ledger').set({ state, cost_nanousd: cost }).where('id', '=', id).execute()
  const change = { spent: cost ?? 0, reserved: -Number(row.reserved_nanousd) }
  if (change.reserved !== 0) await addToTotals(writer, row.user_id, Number(row.at), change)
}

async function addToTotals(
  writer: Writer,
  userId: string,
  at: number,
  change: { spent: number; reserved: number },
): Promise<void> {
  await addToBoth(writer, { userId, day: `day:${localDay(at)}`, month: `month:${monthOf(at)}`, ...change })
}

type TotalsChange = { userId: string; day: string; month: string; spent: number; reserved: number }

const addToBoth = reusableQuery((database, { userId, day, month, spent, reserved }: TotalsChange) =>
  database
    .insertInto('cost_totals')
    .values(
      [day, month].map((period) => {
        return { user_id: userId, period, spent_nanousd: spent, reserved_nanousd: reserved }
      }),
    )
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'period']).doUpdateSet((expression) => ({
        spent_nanousd: expression('cost_totals.spent_nanousd', '+', expression.ref('excluded.spent_nanousd')),
        reserved_nanousd: expression('cost_totals.reserved_nanousd', '+', expression.ref('excluded.reserved_nanousd')),
      })),
    ),
)

const insertReserved = reusableQuery((database, call: PlannedWork & { id: string; at: number; amount: number }) =>
  database.insertInto('cost_ledger').values({
    id: call.id,
    user_id: call.userId,
    session_id: call.sessionId,
    turn_id: call.turnId,
    purpose: call.purpose,
    model: call.model,
    state: 'reserved',
    at: call.at,
    input_tokens: call.inputTokens,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reserved_nanousd: call.amount,
    cost_nanousd: null,
  }),
)

type SettledCall = Omit<Usage, 'isEstimate'> & { id: string; state: 'settled' | 'estimated'; cost: number | null }

const settleReserved = reusableQuery((database, settled: SettledCall) =>
  database
    .updateTable('cost_ledger')
    .set({
      state: settled.state,
      input_tokens: settled.inputTokens,
      output_tokens: settled.outputTokens,
      cache_read_tokens: settled.cacheReadTokens,
      cache_write_tokens: settled.cacheWriteTokens,
      cost_nanousd: settled.cost,
    })
    .where('id', '=', settled.id)
    .where('state', '=', 'reserved'),
)

const selectTotals = reusableQuery((database, of: { userId: string; day: string; month: string }) =>
  database
    .selectFrom('cost_totals')
    .selectAll()
    .where('user_id', '=', of.userId)
    .where((where) => where.or([where('period', '=', of.day), where('period', '=', of.month)])),
)

const selectCallsOfTurn = reusableQuery((database, of: { turnId: string }) =>
  database
    .selectFrom('cost_ledger')
    .select(['state', 'cost_nanousd', 'reserved_nanousd'])
    .where('turn_id', '=', of.turnId),
)

function limitOfTurn({ purpose }: PlannedWork, { perMessageNanousd, perBuildNanousd }: BudgetLimits) {
  return purpose === 'builder' && perBuildNanousd !== undefined
    ? { limit: perBuildNanousd, name: 'this build', key: 'per_build_usd' }
    : { limit: perMessageNanousd, name: 'this message', key: 'per_message_usd' }
}

async function firstLimitPassed(
  writer: Writer,
  call: PlannedWork,
  amount: number,
  at: number,
  limits: BudgetLimits,
): Promise<string | undefined> {
  const day = `day:${localDay(at)}`
  const month = `month:${monthOf(at)}`
  const { rows: totals } = await selectTotals(writer, { userId: call.userId, day, month })
  const usedIn = (period: string) => totals.find((row) => row.period === period) ?? nothingUsed
  const periods = [
    { ...limitOfTurn(call, limits), used: await usedByTurn(writer, call) },
    { limit: limits.perDayNanousd, used: usedIn(day), name: 'today', key: 'per_day_usd' },
    { limit: limits.perMonthNanousd, used: usedIn(month), name: 'this month', key: 'per_month_usd' },
  ]
  for (const { limit, used, name, key } of periods) {
    const spent = Number(used.spent_nanousd)
    if (limit === null || spent + Number(used.reserved_nanousd) + amount <= limit) continue
    return `The next call could cost up to ${formatNanousd(amount)}, and ${formatNanousd(spent)} of ${formatNanousd(limit)} is spent for ${name} (${limits.section ?? 'budget'}.${key}).`
  }
  return undefined
}

const nothingUsed = { spent_nanousd: 0, reserved_nanousd: 0 }

/** A turn makes a handful of calls, so its sum is read from them. */
async function usedByTurn(writer: Writer, { turnId }: PlannedWork): Promise<typeof nothingUsed> {
  if (!turnId) return nothingUsed
  const { rows: calls } = await selectCallsOfTurn(writer, { turnId })
  const used = { ...nothingUsed }
  for (const call of calls) {
    used.spent_nanousd += Number(call.cost_nanousd ?? 0)
    if (call.state === 'reserved') used.reserved_nanousd += Number(call.reserved_nanousd)
  }
  return used
}

/** The budgets of a plan: its own, with the default for those that it does not set. */
export function limitsOfPlan({ name, budget }: Plan, everybody: BudgetLimits): BudgetLimits {
  const own = Object.values(budget).some((usd) => usd !== undefined)
  if (!own) return everybody
  const { perMessageUsd, perBuildUsd, perDayUsd, perMonthUsd } = budget
  return {
    perMessageNanousd: budgetLimit(perMessageUsd, everybody.perMessageNanousd),
    perBuildNanousd: budgetLimit(perBuildUsd, everybody.perBuildNanousd ?? null),
    perDayNanousd: budgetLimit(perDayUsd, everybody.perDayNanousd),
    perMonthNanousd: budgetLimit(perMonthUsd, everybody.perMonthNanousd),
    section: `plans.${name}.budget`,
  }
}

function budgetLimit(usd: number | null | undefined, everybody: number | null): number | null {
  if (usd === undefined) return everybody
  return usd === null ? null : toNanousd(usd)
}

/** The default budgets, from the table `budget` of the config. */
export function limitsOfBudget(budget: {
  perMessageUsd: number
  perBuildUsd: number
  perDayUsd: number
  perMonthUsd: number | null
}): BudgetLimits {
  return {
    perMessageNanousd: toNanousd(budget.perMessageUsd),
    perBuildNanousd: toNanousd(budget.perBuildUsd),
    perDayNanousd: toNanousd(budget.perDayUsd),
    perMonthNanousd: budget.perMonthUsd === null ? null : toNanousd(budget.perMonthUsd),
  }
}
