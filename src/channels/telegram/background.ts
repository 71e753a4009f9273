import { type Clock, sleep } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'

/** Work that an update began and that the next one need not wait for. */
export interface Background {
  /** Waits for the work, but not longer than a moment. */
  awhile(work: Promise<void>): Promise<void>
  /** When all of it has ended. */
  settled(): Promise<void>
}

export function createBackground(dependencies: { clock: Clock; logger: Logger; momentMs?: number }): Background {
  const { clock, logger, momentMs = 5_000 } = dependencies
  const running = new Set<Promise<void>>()
  return {
    async awhile(work) {
      const watched = work
        .catch((error: unknown) => logger.error('work for Telegram failed', { error }))
        .finally(() => running.delete(watched))
      running.add(watched)
      const over = new AbortController()
      const moment = sleep(clock, momentMs, over.signal).catch(() => undefined)
      await Promise.race([watched, moment])
      over.abort()
    },
    async settled() {
      await Promise.all(running)
    },
  }
}
