import type { Clock } from '../base/clock.ts'
import type { Usage } from '../protocol/message.ts'
import type { Database } from '../storage/database.ts'
import type { CostLedgerRow } from '../storage/tables.ts'
import type { Caps } from './ledger.ts'
import { dayOf, monthOf, startOfDay } from './periods.ts'
import { reportSpending, type Spending, type SpendingPeriod } from './spending.ts'

/** One limit on what may be spent, and how near to it the user is. In nano-dollars. */
interface CapState {
  name: 'message' | 'build' | 'day' | 'month'
  /** Null: without a limit. */
  limit: number | null
  /** In the day or month; of a message or build: the dearest one of today. */
  spent: number
  /** Set aside for calls under way. */
  reserved: number
}

/** One call as the ledger has it. */
export interface LedgerCall {
  at: number
  sessionId: string | null
  purpose: string
  model: string
  state: CostLedgerRow['state']
  usage: Usage
  /** Null where the model has no price. */
  nanousd: number | null
}

/** The figures of one user, for whoever shows them. Nothing is changed here. */
export interface Costs {
  spending(userId: string, period: SpendingPeriod, signal?: AbortSignal): Promise<Spending>
  /** `section` is the table of the config that they stand in. */
  caps(userId: string): Promise<{ section: string; caps: CapState[] }>
  /** All that counts to a turn: its own calls, and those of what worked for it. In order. */
  callsOfTurn(userId: string, turnId: string): Promise<LedgerCall[]>
}

export function createCosts(dependencies: {
  database: Database
  clock: Clock
  /** Of one user, as they are now. */
  caps: (userId: string) => Caps
}): Costs {
  const { database, clock } = dependencies

  async function dearestToday(userId: string): Promise<{ message: number; build: number }> {
    const rows = await database.read
      .selectFrom('cost_ledger')
      .select((select) => ['turn_id', 'purpose', select.fn.sum('cost_nanousd').as('spent')])
      .where('user_id', '=', userId)
      .where('at', '>=', startOfDay(clock.now()))
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
    spending: (userId, period, signal) =>
      reportSpending(database, { userId, period, now: clock.now(), ...(signal && { signal }) }),
    async caps(userId) {
      const caps = dependencies.caps(userId)
      const now = clock.now()
      const totals = await database.read
        .selectFrom('cost_totals')
        .selectAll()
        .where('user_id', '=', userId)
        .where('period', 'in', [`day:${dayOf(now)}`, `month:${monthOf(now)}`])
        .execute()
      const used = (kind: 'day' | 'month') => {
        const row = totals.find(({ period }) => period.startsWith(`${kind}:`))
        return { spent: Number(row?.spent_nanousd ?? 0), reserved: Number(row?.reserved_nanousd ?? 0) }
      }
      const dearest = await dearestToday(userId)
      return {
        section: caps.section ?? 'budget',
        caps: [
          { name: 'message', limit: caps.perMessageNanousd, spent: dearest.message, reserved: 0 },
          {
            name: 'build',
            limit: caps.perBuildNanousd === undefined ? caps.perMessageNanousd : caps.perBuildNanousd,
            spent: dearest.build,
            reserved: 0,
          },
          { name: 'day', limit: caps.perDayNanousd, ...used('day') },
          { name: 'month', limit: caps.perMonthNanousd, ...used('month') },
        ],
      }
    },
    async callsOfTurn(userId, turnId) {
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

function callOf(row: CostLedgerRow): LedgerCall {
  return {
    at: Number(row.at),
    sessionId: row.session_id,
    purpose: row.purpose,
    model: row.model,
    state: row.state,
    usage: {
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
      cacheReadTokens: Number(row.cache_read_tokens),
      cacheWriteTokens: Number(row.cache_write_tokens),
    },
    nanousd: row.cost_nanousd === null ? null : Number(row.cost_nanousd),
  }
}
