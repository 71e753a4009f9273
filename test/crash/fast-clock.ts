import type { Clock } from '../../src/base/clock.ts'

/**
 * A clock that runs so many times as fast as the machine's, and can be set forward: pauses of minutes take moments. Those of
 * several processes that have the same beginning agree.
 */
export function createFastClock(speed: number, begin = Date.now()): Clock & { skip(milliseconds: number): void } {
  let skipped = 0
  return {
    now: () => begin + (Date.now() - begin) * speed + skipped,
    after(delayMs, task) {
      const timer = setTimeout(task, delayMs / speed)
      timer.unref()
      return () => clearTimeout(timer)
    },
    skip(milliseconds) {
      skipped += milliseconds
    },
  }
}
