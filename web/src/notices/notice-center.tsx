import { useEffect, useState } from 'react'
import { IconButton } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { later, OutOfDate } from '../components/later.tsx'
import { setTitleCount, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { isShownHere, startAnnouncing } from './announce.ts'
import { markSeen, placeOf, startNotices, useIsVisible, useUnseen } from './notices.ts'

/** Connects the notices, and shows them as toasts, in the title of the tab and on the icon of the app. */
export function NoticeCenter() {
  const toasts = useToasts()
  const unseen = useUnseen()
  const isVisible = useIsVisible()
  const { path, query } = usePlace()
  const place = `${path}?${query}`

  useEffect(
    () =>
      startAnnouncing((notice) => {
        const text = t.notices.toast(notice.kind, notice.title)
        toasts.done(text, { label: t.notices.show, href: placeOf(notice) })
      }),
    [toasts],
  )
  useEffect(startNotices, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: opening the place is seeing it.
  useEffect(() => {
    const shown = unseen.filter(isShownHere)
    if (shown.length > 0) markSeen(shown)
  }, [unseen, place, isVisible])

  const count = unseen.length
  useEffect(() => {
    setTitleCount(count)
    const shown = count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.()
    // A browser that shows none.
    shown?.catch(() => undefined)
  }, [count])
  return null
}

const Inbox = later(async () => (await import('./inbox.tsx')).Inbox, OutOfDate)

/** The bell with the number of notices that were not opened. */
export function NoticeBell() {
  const [isOpen, setIsOpen] = useState(false)
  const count = useUnseen().length
  return (
    <>
      <IconButton
        label={count > 0 ? t.notices.unread(count) : t.notices.title}
        className="relative"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="bell" />
        {count > 0 && (
          <span
            aria-hidden="true"
            // The name of the button has the number already.
            data-count={count > 99 ? '99+' : count}
            className="absolute end-0 top-0 min-w-4 rounded-full bg-accent px-1 text-center text-[0.6875rem] leading-4 font-medium text-accent-ink tabular-nums before:content-[attr(data-count)]"
          />
        )}
      </IconButton>
      {isOpen && <Inbox onClose={() => setIsOpen(false)} />}
    </>
  )
}
