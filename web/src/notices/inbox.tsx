import type { Notice } from '../../../src/protocol/page.ts'
import { Button, classes } from '../components/controls.tsx'
import { Empty } from '../components/feedback.tsx'
import { Dialog } from '../components/forms.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { When } from '../components/layout.tsx'
import { Link } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { isSeen, markSeen, placeOf, useNotices, useUnseen } from './notices.ts'
import {
  type NoticeGroup,
  noticeGroups,
  setNotifications,
  setWanted,
  useMuted,
  useNotificationState,
} from './preferences.ts'

const icons: Record<Notice['kind'], IconName> = {
  approval: 'shield',
  question: 'question',
  build_ready: 'bolt',
  build_failed: 'bolt',
  repair_ready: 'bolt',
  repair_failed: 'bolt',
  schedule: 'calendar',
  reply: 'talk',
  reply_failed: 'talk',
}

const failures: readonly Notice['kind'][] = ['build_failed', 'repair_failed', 'reply_failed']

function Entry({ notice, onOpen }: { notice: Notice; onOpen(): void }) {
  const { kind, title, text, at } = notice
  const isNew = !isSeen(notice)
  return (
    <li>
      <Link
        href={placeOf(notice)}
        onClick={() => {
          markSeen([notice])
          onOpen()
        }}
        className="flex gap-3 rounded-xl px-2.5 py-2 hover:bg-sunken focus-visible:bg-sunken"
      >
        <span className={classes('mt-0.5', failures.includes(kind) ? 'text-bad' : isNew ? 'text-accent' : 'text-soft')}>
          <Icon name={icons[kind]} />
        </span>
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2 text-sm">
            <span className={classes('min-w-0 flex-1', isNew && 'font-semibold')}>
              {t.notices.headline[kind]}
              {isNew && <span className="sr-only">{t.chat.unreadNote}</span>}
            </span>
            <span className="shrink-0 text-xs text-soft">
              <When at={at} />
            </span>
          </span>
          <span className="block truncate text-sm">{title}</span>
          {text !== '' && <span className="line-clamp-2 text-xs text-soft">{text}</span>}
        </span>
        {isNew && <span aria-hidden="true" className="mt-1.5 size-2 shrink-0 rounded-full bg-accent" />}
      </Link>
    </li>
  )
}

/** Open questions and unread results, newest first. */
export function Inbox({ onClose }: { onClose(): void }) {
  const notices = useNotices()
  const unseen = useUnseen()
  const state = useNotificationState()
  return (
    <Dialog isOpen onClose={onClose} title={t.notices.title}>
      {notices.length === 0 ? (
        <Empty title={t.notices.none}>{t.notices.noneHint}</Empty>
      ) : (
        <ul className="-mx-2.5 space-y-0.5">
          {notices.map((notice) => (
            <Entry key={notice.id} notice={notice} onOpen={onClose} />
          ))}
        </ul>
      )}
      <div className="mt-4 flex flex-wrap items-center gap-2 border-t border-line pt-3">
        {state === 'off' && (
          <Button size="small" kind="main" onClick={() => void setNotifications(true)}>
            <Icon name="bell" size={14} /> {t.notices.turnOn}
          </Button>
        )}
        {unseen.length > 0 && (
          <Button size="small" onClick={() => markSeen(unseen)}>
            {t.notices.markAllRead}
          </Button>
        )}
        <Link
          href="/settings/notifications"
          onClick={onClose}
          className="ms-auto text-sm text-soft hover:text-ink hover:underline"
        >
          {t.notices.settings}
        </Link>
      </div>
    </Dialog>
  )
}

/** `/settings/notifications`: of this browser alone. */
export function NotificationSettings() {
  const state = useNotificationState()
  const muted = useMuted()
  return (
    <div className="max-w-md space-y-6">
      <div>
        <label className="flex min-h-9 items-center gap-2 font-medium">
          <input
            type="checkbox"
            checked={state === 'on'}
            disabled={state === 'absent' || state === 'blocked'}
            onChange={(event) => void setNotifications(event.target.checked)}
          />
          {t.notices.systemNotifications}
        </label>
        <p className="ms-6 text-sm text-soft">{t.notices.stateHint[state]}</p>
      </div>
      <fieldset>
        <legend className="mb-1 font-medium">{t.notices.announceThese}</legend>
        {(Object.keys(noticeGroups) as NoticeGroup[]).map((group) => (
          <label key={group} className="flex min-h-9 items-center gap-2">
            <input
              type="checkbox"
              checked={!muted.includes(group)}
              onChange={(event) => setWanted(group, event.target.checked)}
            />
            {t.notices.groups[group]}
          </label>
        ))}
        <p className="mt-1 text-sm text-soft">{t.notices.bellShowsAll}</p>
      </fieldset>
    </div>
  )
}
