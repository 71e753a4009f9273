import { useEffect, useRef, useSyncExternalStore } from 'react'
import type { BuildReply } from '../../../src/protocol/custom-tools.ts'
import { useAnswer } from '../api/call.ts'
import { useToasts } from '../components/feedback.tsx'
import { t } from '../strings/strings.ts'

/** Announces each build that ends while the page is open, on every screen. The toasts are a live region. */
export function BuildNews() {
  const toasts = useToasts()
  const { data } = useAnswer('builds.list', { limit: 20 }, { everyMs: 5_000 })
  const seen = useRef<Map<string, BuildReply['state']>>(undefined)

  useEffect(() => {
    if (!data) return
    const before = seen.current
    seen.current = new Map(data.builds.map(({ id, state }) => [id, state]))
    // Builds that had ended when the page was opened are no news.
    if (!before) return
    for (const build of data.builds) {
      if (before.get(build.id) === build.state) continue
      const news = newsOf(build)
      if (news) toasts.done(news.text, { label: t.builds.show, href: news.href })
    }
  }, [data, toasts])
  return null
}

/** Undefined for a build that runs, or that the user stopped. */
function newsOf({ id, name, kind, state }: BuildReply): { text: string; href: string } | undefined {
  const isRepair = kind === 'repair'
  if (state === 'complete') {
    return {
      text: isRepair ? t.builds.isRepaired(name) : t.builds.readyUse(name),
      href: `/capabilities/${encodeURIComponent(name)}`,
    }
  }
  if (state !== 'failed') return undefined
  return { text: (isRepair ? t.builds.repairFailed : t.builds.buildFailed)(name), href: `/capabilities?build=${id}` }
}

function subscribe(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Whether the page is visible. */
export function useIsVisible(): boolean {
  return useSyncExternalStore(subscribe, () => document.visibilityState === 'visible')
}
