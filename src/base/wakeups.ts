/** Wakes whoever waits on a topic. Carries no data: readers catch up from their own cursor. */
export interface Wakeups {
  wake(topic: string): void
  /** The same, and nobody outside of this process hears of it. */
  wakeHere(topic: string): void
  /** Calls `listener` at every wake of the topic until the returned function is called. */
  on(topic: string, listener: () => void): () => void
  /** At every wake of any topic. */
  onAny(listener: (topic: string) => void): () => void
}

export function createWakeups(): Wakeups {
  const listeners = new Map<string, Set<() => void>>()
  const anyListeners = new Set<(topic: string) => void>()

  function wake(topic: string): void {
    for (const listener of [...(listeners.get(topic) ?? [])]) listener()
    for (const listener of [...anyListeners]) listener(topic)
  }

  return {
    wake,
    wakeHere: wake,
    on(topic, listener) {
      const known = listeners.get(topic) ?? new Set()
      known.add(listener)
      listeners.set(topic, known)
      return () => {
        known.delete(listener)
        if (known.size === 0) listeners.delete(topic)
      }
    },
    onAny(listener) {
      anyListeners.add(listener)
      return () => void anyListeners.delete(listener)
    },
  }
}
