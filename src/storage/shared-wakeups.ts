import { createWakeups, type Wakeups } from '../base/wakeups.ts'
import type { Notices } from './notices.ts'

/**
 * Wakeups that reach the other daemons too, under a name of their own. After a gap everybody who waits is woken: whoever
 * has nothing new to read goes back to sleep.
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
