import { localDay, monthOf } from '../../../src/base/money.ts'
import type { CostLedgerRow } from '../../../src/storage/tables.ts'
import { type Evidence, interruptionsWithin } from './evidence.ts'
import { ofType, type Recorded, type RecordedTurn, turnsOf } from './recorded.ts'

/** Every call is in the ledger, the sums are the sums of its rows, and no turn asks more often than it had to. */
export function checkCosts(evidence: Evidence, recorded: Recorded): string[] {
  const { ledger } = recorded
  const open = ledger.filter((row) => row.state === 'reserved' && !isLeftOpen(evidence, row))
  const violations = evidence.settled ? open.map((row) => `open reservation: ${row.id} (${row.purpose})`) : []
  if (evidence.requests > ledger.length) {
    violations.push(`unwritten cost: ${evidence.requests} calls reached the provider, the ledger has ${ledger.length}`)
  }
  return [
    ...violations,
    ...checkTotals(recorded),
    ...turnsOf(recorded).flatMap((turn) => checkCalls(evidence, ledger, turn)),
  ]
}

function isLeftOpen(evidence: Evidence, { turn_id, at }: CostLedgerRow): boolean {
  const span = { from: at, to: Number.POSITIVE_INFINITY }
  return evidence.isShared === true && turn_id === null && interruptionsWithin(evidence, span) > 0
}

function checkTotals({ ledger, totals }: Recorded): string[] {
  const sums = new Map<string, { spent: number; reserved: number }>()
  for (const row of ledger) {
    const reserved = row.state === 'reserved' ? row.reserved_nanousd : 0
    for (const period of periodsOf(row)) {
      const sum = sums.get(period) ?? { spent: 0, reserved: 0 }
      sums.set(period, { spent: sum.spent + (row.cost_nanousd ?? 0), reserved: sum.reserved + reserved })
    }
  }
  const written = new Map(totals.map((row) => [`${row.user_id} ${row.period}`, row]))
  return [...new Set([...sums.keys(), ...written.keys()])].flatMap((period) => {
    const sum = sums.get(period) ?? { spent: 0, reserved: 0 }
    const total = written.get(period)
    const same = (total?.spent_nanousd ?? 0) === sum.spent && (total?.reserved_nanousd ?? 0) === sum.reserved
    if (same) return []
    const told = `${total?.spent_nanousd ?? 0} spent, ${total?.reserved_nanousd ?? 0} reserved`
    return [`wrong total: ${period} says ${told}; its rows ${sum.spent} and ${sum.reserved}`]
  })
}

function periodsOf(row: CostLedgerRow): string[] {
  return [`day:${localDay(row.at)}`, `month:${monthOf(row.at)}`].map((period) => `${row.user_id} ${period}`)
}

function checkCalls(evidence: Evidence, ledger: readonly CostLedgerRow[], turn: RecordedTurn): string[] {
  const calls = ledger.filter((row) => row.turn_id === turn.id)
  const responses = ofType(turn.events, 'model_responded').length
  const retries = ofType(turn.events, 'model_failed').filter((event) => event.attempt > 0).length
  const interruptions = interruptionsWithin(evidence, turn.span)
  const underWay = turn.span.to === Number.POSITIVE_INFINITY ? 1 : 0
  const violations: string[] = []
  if (calls.length > responses + retries + interruptions + underWay) {
    const excuse = `${responses} responses, ${retries} retries, ${interruptions} interruptions`
    violations.push(`needless call: turn ${turn.id} made ${calls.length} calls for ${excuse}`)
  }
  const settled = calls.filter((row) => row.state === 'settled').length
  if (settled !== responses)
    violations.push(`wrong ledger: turn ${turn.id} has ${responses} responses, ${settled} settled`)
  return violations
}
