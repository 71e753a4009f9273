import type { Usage } from '../protocol/messages.ts'

/** Per million tokens, in dollars: input, output, cache read, cache write. */
export type CostRates = readonly [number, number, number, number]

const nanoPerUsd = 1_000_000_000

/** A dollar per million tokens is a thousand nano-dollars per token; rounding happens once, on the sum. */
export function costNanousd(usage: Usage, rates: CostRates | null): number | null {
  if (!rates) return null
  const [input, output, cacheRead, cacheWrite] = rates
  const fresh = Math.max(0, usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens)
  const dollarsPerMillion =
    fresh * input +
    usage.outputTokens * output +
    usage.cacheReadTokens * cacheRead +
    usage.cacheWriteTokens * cacheWrite
  return Math.round(dollarsPerMillion * 1_000)
}

/** The maximum cost of a call: all input written to the cache, all output used. */
export function worstCaseNanousd(inputTokens: number, maxOutputTokens: number, rates: CostRates | null): number {
  if (!rates) return 0
  const [input, output, , cacheWrite] = rates
  return Math.ceil((inputTokens * Math.max(input, cacheWrite) + maxOutputTokens * output) * 1_000)
}

export function toNanousd(usd: number): number {
  return Math.round(usd * nanoPerUsd)
}

/** Null stays null: a model without a price. */
export function toUsd(nanousd: number): number
export function toUsd(nanousd: number | null): number | null
export function toUsd(nanousd: number | null): number | null {
  return nanousd === null ? null : nanousd / nanoPerUsd
}

/** `$0.0312`, with more decimal places for small sums. */
export function formatNanousd(nanousd: number): string {
  const usd = toUsd(nanousd)
  return `$${usd.toFixed(usd !== 0 && usd < 0.1 ? 4 : 2)}`
}

/** The calendar day and month of a moment, in the machine's time zone. */
export function localDay(at: number): string {
  const date = new Date(at)
  return `${monthOf(at)}-${String(date.getDate()).padStart(2, '0')}`
}

export function monthOf(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`
}

export function startOfLocalDay(at: number, daysBack = 0): number {
  const date = new Date(at)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - daysBack).getTime()
}
