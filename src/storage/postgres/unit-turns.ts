/** Whose turn it is among the units of this process. */
export interface UnitTurns {
  /** Together with up to `limit` others, in the order of the calls. */
  shared<T>(task: () => Promise<T>): Promise<T>
  /** With no other beside it, and before those that wait. */
  alone<T>(task: () => Promise<T>): Promise<T>
}

export function createUnitTurns(limit: number): UnitTurns {
  const waiting: { alone: boolean; start: () => void }[] = []
  let running = 0
  let isAlone = false

  function startNext(): void {
    for (let next = waiting[0]; next && mayStart(next.alone); next = waiting[0]) {
      waiting.shift()
      running += 1
      isAlone = next.alone
      next.start()
    }
  }

  function mayStart(alone: boolean): boolean {
    return alone ? running === 0 : !isAlone && running < limit
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
  }
}
