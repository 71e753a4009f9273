/** A sum over calls. Money is in nano-dollars, and of the priced calls alone. */
export interface Spent {
  calls: number
  /** Calls of models without a price: what they cost is unknown, not zero. */
  unpricedCalls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  nanousd: number
}

export const nothingSpent: Readonly<Spent> = {
  calls: 0,
  unpricedCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  nanousd: 0,
}

export function addSpent(sum: Spent, more: Readonly<Spent>): void {
  for (const key of Object.keys(nothingSpent) as (keyof Spent)[]) sum[key] += more[key]
}

/** Sums that each have a name. */
interface SpentByName<Name> {
  add(name: Name, more: Readonly<Spent>): void
  /** The dearest first; the busiest first where nothing has a price. */
  dearest(): (Spent & { name: Name })[]
}

export function createSpentByName<Name>(): SpentByName<Name> {
  const sums = new Map<Name, Spent>()
  return {
    add(name, more) {
      let sum = sums.get(name)
      if (!sum) {
        sum = { ...nothingSpent }
        sums.set(name, sum)
      }
      addSpent(sum, more)
    },
    dearest() {
      const lines = [...sums].map(([name, sum]) => ({ name, ...sum }))
      return lines.sort((a, b) => b.nanousd - a.nanousd || b.calls - a.calls)
    },
  }
}
