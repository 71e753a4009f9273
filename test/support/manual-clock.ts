import type { Clock } from '../../src/base/clock.ts'

/** A clock that stands still until the test moves it; timers fire in order as it passes them. */
export interface ManualClock extends Clock {
  advance(milliseconds: number): Promise<void>
  setTime(time: number): void
  timers(): number
}

export function createManualClock(start = Date.UTC(2026, 10, 15, 9, 0)): ManualClock {
  let time = start
  const timers = new Set<{ at: number; task: () => void }>()
  return {
    now: () => time,
    after(delayMs, task) {
      const timer = { at: time + delayMs, task }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    async advance(milliseconds) {
      const end = time + milliseconds
      for (;;) {
        const due = [...timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!due) break
        timers.delete(due)
        time = Math.max(time, due.at)
        due.task()
        await new Promise(setImmediate)
      }
      time = end
      await new Promise(setImmediate)
    },
    setTime: (now) => {
      time = now
    },
    timers: () => timers.size,
  }
}
