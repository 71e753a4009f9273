/** Wakes whoever waits on a topic. Carries no data: readers catch up from their own cursor. */
export interface Wakeups {
  wake(topic: string): void
  /** Calls `listener` at every wake of the topic until the returned function is called. */
  on(topic: string, listener: () => void): () => void
}

export function createWakeups(): Wakeups {
  const listeners = new Map<string, Set<() => void>>()
  return {
    wake(topic) {
      for (const listener of [...(listeners.get(topic) ?? [])]) listener()
    },
    on(topic, listener) {
      const known = listeners.get(topic) ?? new Set()
      known.add(listener)
      listeners.set(topic, known)
      return () => {
        known.delete(listener)
        if (known.size === 0) listeners.delete(topic)
      }
    },
  }
}
