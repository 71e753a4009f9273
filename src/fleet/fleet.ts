import { createWakeups, type Wakeups } from '../base/work.ts'
import type { Notices } from './join-fleet.ts'

/** `api` takes messages in and shows what becomes of them, `worker` answers them, `all` does both. */
export type DaemonRole = 'api' | 'worker' | 'all'

/** Whose work is done one piece after another: a session. */
export interface Lane {
  /** The kind of workers for it: each kind has separate places. */
  kind: string
  id: string
}

/**
 * Wake-ups under one name that reach the other daemons too. After a gap all waiters are woken; those with nothing new
 * go back to sleep.
 */
export function createSharedWakeups(notices: Notices, name: string): Wakeups {
  const local = createWakeups()
  const waiting = new Map<string, number>()
  notices.on(`wake:${name}`, (topic) => {
    if (typeof topic === 'string') local.wake(topic)
  })
  notices.onGap(() => {
    for (const topic of [...waiting.keys()]) local.wake(topic)
  })
  return {
    ...local,
    wake(topic) {
      local.wake(topic)
      notices.publish(`wake:${name}`, topic)
    },
    on(topic, listener) {
      waiting.set(topic, (waiting.get(topic) ?? 0) + 1)
      const unfollow = local.on(topic, listener)
      return () => {
        unfollow()
        const left = (waiting.get(topic) ?? 1) - 1
        if (left > 0) waiting.set(topic, left)
        else waiting.delete(topic)
      }
    },
  }
}
