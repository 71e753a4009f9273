/** Whose turn it is among the units of this process. */
export interface UnitTurns {
  /** Together with others, in the order of the calls. */
  shared<T>(task: () => Promise<T>): Promise<T>
  /** With no other beside it, and before those that wait. */
  alone<T>(task: () => Promise<T>): Promise<T>
  /** A unit went through, or was refused for another one's sake and has to be run again. */
  learn(outcome: 'done' | 'refused'): void
}

/** So many units that went through make room for one more beside the others. */
const unitsForOneMore = 24

/**
 * Up to `limit` units at once, fewer where they are in each other's way: a refusal halves how many may run beside each
 * other, and every unit that goes through lets it grow a little. What is refused costs as much as what is stored, so
 * where all write to the same few pages, one after another is the quickest.
 */
export function createUnitTurns(limit: number): UnitTurns {
  const waiting: { alone: boolean; start: () => void }[] = []
  let running = 0
  let isAlone = false
  let allowed = limit

  function startNext(): void {
    for (let next = waiting[0]; next && mayStart(next.alone); next = waiting[0]) {
      waiting.shift()
      running += 1
      isAlone = next.alone
      next.start()
    }
  }

  function mayStart(alone: boolean): boolean {
    return alone ? running === 0 : !isAlone && running < Math.floor(allowed)
  }

  async function take<T>(alone: boolean, task: () => Promise<T>): Promise<T> {
    await new Promise<void>((start) => {
      if (alone) waiting.unshift({ alone, start })
      else waiting.push({ alone, start })
      startNext()
    })
    try {
      return await task()
    } finally {
      running -= 1
      isAlone = false
      startNext()
    }
  }

  return {
    shared: (task) => take(false, task),
    alone: (task) => take(true, task),
    learn(outcome) {
      allowed = outcome === 'done' ? Math.min(limit, allowed + 1 / unitsForOneMore) : Math.max(1, allowed / 2)
      startNext()
    },
  }
}
