import { type Clock, systemClock } from '../../../src/base/clock.ts'

/** The time of the system, and what the test lets pass at once. */
export function movableClock(): Clock & { passUntil(time: number): void } {
  const system = systemClock()
  const timers = new Set<{ at: number; task: () => void; cancel: () => void }>()
  let passed = 0
  const now = () => system.now() + passed
  return {
    now,
    after(delayMs, task) {
      const run = () => {
        timers.delete(timer)
        task()
      }
      const timer = { at: now() + delayMs, task: run, cancel: system.after(delayMs, run) }
      timers.add(timer)
      return () => {
        timer.cancel()
        timers.delete(timer)
      }
    },
    passUntil(time) {
      passed += Math.max(0, time - now())
      for (const timer of [...timers].filter(({ at }) => at <= now())) {
        timer.cancel()
        timer.task()
      }
    },
  }
}
