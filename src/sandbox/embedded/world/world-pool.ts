import type { World } from './world.ts'

/** Worlds that wait for a command. Each is used once; the next one is made while the call before it runs. */
export interface WorldPool {
  take(): Promise<World>
  /** Throws away those that wait or are being made. The pool goes on: the next call fills it again. */
  drain(): Promise<void>
}

export function createWorldPool(options: {
  size: number
  make(): Promise<World>
  onFailure(cause: unknown): void
}): WorldPool {
  const waiting = new Set<World>()
  const making = new Set<Promise<void>>()
  let drains = 0

  function refill(): void {
    for (let missing = options.size - waiting.size - making.size; missing > 0; missing -= 1) {
      const made = add()
        .catch(options.onFailure)
        .finally(() => making.delete(made))
      making.add(made)
    }
  }

  async function add(): Promise<void> {
    const drainsBefore = drains
    const world = await options.make()
    if (drains !== drainsBefore) return world.dispose()
    waiting.add(world)
    // One that dies while it waits is not handed out.
    void world.ended.then(() => (waiting.delete(world) ? world.dispose() : undefined)).catch(options.onFailure)
  }

  function takeWaiting(): World | undefined {
    const [world] = waiting
    if (world) waiting.delete(world)
    return world
  }

  return {
    async take() {
      const world = takeWaiting() ?? (await options.make())
      // Not before the call has begun: to start a process takes this program two milliseconds.
      setImmediate(refill)
      return world
    },
    async drain() {
      drains += 1
      const idle = [...waiting]
      waiting.clear()
      await Promise.all([...idle.map((world) => world.dispose()), ...making])
    },
  }
}
