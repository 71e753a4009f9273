import type { Clock } from '../base/clock.ts'

/**
 * A timer counts the time that the machine is awake, and the clock may be set: after this long it is looked at again.
 * It also keeps every wait far below the 24.8 days that a timer can hold.
 */
const longestWaitMs = 5 * 60_000

/** One timer to the next time at which something is due, however far off. Nothing is read before that. */
export interface Alarm {
  /** In place of the time before; undefined for none at all. */
  set(time: number | undefined): void
}

export function createAlarm({ clock, onTime }: { clock: Clock; onTime(): void }): Alarm {
  let cancelTimer = () => {}

  function set(time: number | undefined): void {
    cancelTimer()
    cancelTimer = () => {}
    if (time === undefined) return
    const wait = Math.max(0, time - clock.now())
    cancelTimer = clock.after(Math.min(wait, longestWaitMs), () => {
      if (clock.now() < time) set(time)
      else onTime()
    })
  }

  return { set }
}
