import type { Clock } from '../../../base/clock.ts'

const pauseMs = 60 * 60_000
const mostRemembered = 10_000

/** Who was told that this is private, and when: each is told once an hour at most, and nothing of them is stored. */
export interface Strangers {
  /** True where this one may be told now; it then counts as told. */
  mayBeTold(id: number): boolean
}

export function createStrangers(clock: Clock): Strangers {
  const toldAt = new Map<number, number>()
  return {
    mayBeTold(id) {
      const now = clock.now()
      const before = toldAt.get(id)
      if (before !== undefined && now - before < pauseMs) return false
      // In order of telling, so that the oldest are the first.
      toldAt.delete(id)
      toldAt.set(id, now)
      for (const [other, at] of toldAt) {
        if (toldAt.size <= mostRemembered && now - at < pauseMs) break
        toldAt.delete(other)
      }
      return true
    },
  }
}
