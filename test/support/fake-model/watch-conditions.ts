const TIMEOUT_MS = 10_000

export interface Conditions {
  /** Resolves once the condition holds; rejects when it has not in ten seconds. */
  until(condition: () => boolean | undefined): Promise<void>
  /** Looks at every waiting condition again. */
  check(): void
}

export function watchConditions(): Conditions {
  const waiting = new Set<() => void>()
  return {
    until(condition) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(() => reject(new Error(`not true within ${TIMEOUT_MS} ms: ${condition}`)), TIMEOUT_MS)
      const check = () => {
        if (condition()) resolve()
      }
      waiting.add(check)
      check()
      return promise.finally(() => {
        clearTimeout(timer)
        waiting.delete(check)
      })
    },
    check() {
      for (const check of waiting) check()
    },
  }
}
