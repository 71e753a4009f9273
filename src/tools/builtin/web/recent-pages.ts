import type { Clock } from '../../../base/clock.ts'

export interface RecentPage {
  text: string
  isPrivate: boolean
}

/** The texts that were read last, so that paging through one asks its server once. */
export interface RecentPages {
  keep(sessionId: string, url: string, page: RecentPage): void
  find(sessionId: string, url: string): RecentPage | undefined
}

const mostPages = 8
const longestMs = 15 * 60_000

export function createRecentPages(clock: Clock): RecentPages {
  const pages = new Map<string, { page: RecentPage; at: number }>()
  const keyOf = (sessionId: string, url: string) => `${sessionId} ${url}`
  return {
    keep(sessionId, url, page) {
      const key = keyOf(sessionId, url)
      pages.delete(key)
      pages.set(key, { page, at: clock.now() })
      const [oldest] = pages.keys()
      if (pages.size > mostPages && oldest !== undefined) pages.delete(oldest)
    },
    find(sessionId, url) {
      const kept = pages.get(keyOf(sessionId, url))
      return kept && clock.now() - kept.at < longestMs ? kept.page : undefined
    },
  }
}
