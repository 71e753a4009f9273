/** Runs a task when there is room for it. The tasks that wait begin in the order in which they came. */
export type Turnstile = <T>(task: () => Promise<T>) => Promise<T>

/** At most `most` tasks at a time. */
export function createTurnstile(most: number): Turnstile {
  const waiting: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running < most) running += 1
    // Whoever ends hands its place on, so that nobody slips in between.
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
