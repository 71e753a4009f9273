import type { Notice } from '../../../src/protocol/page.ts'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { createRememberedNames, isSeen, markSeen, onNotices, placeOf } from './notices.ts'
import { isWanted, notificationsAreOn } from './preferences.ts'

/**
 * Says each notice once, however many tabs are open: as a toast in a tab that is visible, otherwise as a notification of
 * the system where the user switched these on. The tab that shows its place says nothing.
 */

const announced = createRememberedNames('familiar.notices.announced')

/** In front of the others: a tab that shows the place, then one that is visible. */
const waitMs = { here: 0, visible: 150, hidden: 600 }

let showToast: ((notice: Notice) => void) | undefined

/** `show` makes a toast. Returns the way to stop it. */
export function startAnnouncing(show: (notice: Notice) => void): () => void {
  showToast = show
  const unfollow = onNotices((change, notices) => {
    withdraw(notices.filter((notice) => !isSeen(notice)))
    if (change.kind === 'list') announce(notices, change)
  })
  return () => {
    showToast = undefined
    unfollow()
  }
}

export function isShownHere(notice: Notice): boolean {
  if (document.visibilityState !== 'visible') return false
  const { pathname, search } = new URL(placeOf(notice), location.origin)
  return location.pathname === pathname && (search === '' || location.search === search)
}

/** Notices from before the page was opened are in the list only. */
function announce(notices: readonly Notice[], { isFirst }: { isFirst: boolean }): void {
  const fresh = notices.filter(({ id }) => !announced.has(id))
  if (fresh.length === 0) return
  if (isFirst) return void claim(fresh)
  for (const notice of fresh) {
    const place = isShownHere(notice) ? 'here' : document.visibilityState === 'visible' ? 'visible' : 'hidden'
    setTimeout(() => void say(notice), waitMs[place])
  }
}

async function say(notice: Notice): Promise<void> {
  const [claimed] = await claim([notice])
  if (!claimed) return
  if (isShownHere(notice)) return markSeen([notice])
  if (!isWanted(notice.kind)) return
  if (document.visibilityState === 'visible') showToast?.(notice)
  else await notify(notice)
}

/** Those that no other tab has said. */
async function claim(some: readonly Notice[]): Promise<readonly Notice[]> {
  const take = () => {
    const added = announced.add(some.map(({ id }) => id))
    return some.filter(({ id }) => added.includes(id))
  }
  return navigator.locks ? await navigator.locks.request('familiar.notices.claim', take) : take()
}

/** Notifications without a service worker, by notice. */
const own = new Map<string, Notification>()

const workerOf = async () => (await navigator.serviceWorker?.getRegistration()) ?? undefined

async function notify(notice: Notice): Promise<void> {
  if (!notificationsAreOn()) return
  const { id, title, text } = notice
  const href = placeOf(notice)
  const options = {
    body: [title, text].filter(Boolean).join('\n'),
    tag: id,
    icon: '/icon-192.png',
    badge: '/icon-192.png',
    data: { href },
  }
  const headline = t.notices.headline[notice.kind]
  const worker = await workerOf()
  if (worker?.active) return worker.showNotification(headline, options)
  const shown = new Notification(headline, options)
  shown.addEventListener('click', () => {
    window.focus()
    shown.close()
    go(href)
  })
  own.set(id, shown)
}

/** Closes the notifications of notices that are answered, read or gone. */
function withdraw(remaining: readonly Notice[]): void {
  const ids = new Set(remaining.map(({ id }) => id))
  for (const [id, shown] of own) {
    if (ids.has(id)) continue
    shown.close()
    own.delete(id)
  }
  void withdrawFromWorker(ids).catch(() => undefined)
}

async function withdrawFromWorker(ids: ReadonlySet<string>): Promise<void> {
  for (const shown of (await (await workerOf())?.getNotifications()) ?? []) if (!ids.has(shown.tag)) shown.close()
}
