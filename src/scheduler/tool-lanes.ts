/** Runs one after another for each tool, and only so many at once over all. */
export interface ToolLanes {
  isBusy(tool: string): boolean
  /** Returns at once. The task must not throw. */
  add(tool: string, task: () => Promise<void>): void
  /** Resolves when nothing runs and nothing waits. */
  idle(): Promise<void>
}

export function createToolLanes(mostAtOnce: number): ToolLanes {
  const lanes = new Map<string, Promise<void>>()
  const waiting: (() => void)[] = []
  let running = 0

  async function inSlot(task: () => Promise<void>): Promise<void> {
    if (running < mostAtOnce) running += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      await task()
    } finally {
      // Whoever waits longest takes the place over.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  return {
    isBusy: (tool) => lanes.has(tool),
    add(tool, task) {
      const before = lanes.get(tool) ?? Promise.resolve()
      const lane = before.then(() => inSlot(task))
      lanes.set(tool, lane)
      void lane.finally(() => {
        if (lanes.get(tool) === lane) lanes.delete(tool)
      })
    },
    async idle() {
      while (lanes.size > 0) await Promise.all(lanes.values())
    },
  }
}
