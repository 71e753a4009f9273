import type { Wakeups } from '../../../base/wakeups.ts'

function topicOf(buildId: string): string {
  return `build:${buildId}`
}

/** Woken with every build. */
export const anyBuild = 'builds'

/** Something was written about the build: whoever follows it looks. */
export function wakeBuild(wakeups: Wakeups, buildId: string): void {
  wakeups.wake(topicOf(buildId))
  wakeups.wake(anyBuild)
}

/**
 * Listens to a build from now on, until `stop`. What happens between two waits ends the next one at once, so nothing is
 * missed by whoever reads after each. An abort ends every wait.
 */
export function listenToBuild(buildId: string, { wakeups, signal }: { wakeups: Wakeups; signal: AbortSignal }) {
  let woken = Promise.withResolvers<void>()
  const wake = () => woken.resolve()
  const unsubscribe = wakeups.on(topicOf(buildId), wake)
  signal.addEventListener('abort', wake, { once: true })
  return {
    wake,
    async wait(): Promise<void> {
      if (signal.aborted) return
      await woken.promise
      woken = Promise.withResolvers<void>()
    },
    stop(): void {
      unsubscribe()
      signal.removeEventListener('abort', wake)
    },
  }
}
