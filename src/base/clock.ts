/** The only source of time. Tests hand in one that they move by hand. */
export interface Clock {
  /** Milliseconds since the epoch. Never goes back, even where the system's clock does. */
  now(): number
  /** Runs `task` once after `delayMs`; the returned function cancels it. Does not keep the process alive. */
  after(delayMs: number, task: () => void): () => void
}

/** The system's clock, held still while the system's time lies before what was already told. */
export function systemClock(readTime: () => number = Date.now): Clock {
  let latest = 0
  return {
    now() {
      latest = Math.max(latest, readTime())
      return latest
    },
    after(delayMs, task) {
      const timer = setTimeout(task, delayMs)
      timer.unref()
      return () => clearTimeout(timer)
    },
  }
}

/** Resolves after `delayMs`, or rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
