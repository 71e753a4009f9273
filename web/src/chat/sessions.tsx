import { useState, useSyncExternalStore } from 'react'
import type { PageSession } from '../../../src/protocol/page.ts'
import { call } from '../api/call.ts'
import { classes } from '../components/controls.tsx'
import { TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Link, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { focusComposer } from './composer.tsx'

let sessions: readonly PageSession[] = []
const listeners = new Set<() => void>()
let isAsking = false
let timer: ReturnType<typeof setInterval> | undefined

const firstTitles = new Map<string, string>()
const maxTitleLength = 80

/** The start of the first message is the title until the daemon has one, which is when the first turn starts. */
export function titleNewSession(id: string, message: string): void {
  const [line = ''] = message.trim().split('\n')
  const title = line.length <= maxTitleLength ? line : `${line.slice(0, maxTitleLength - 1).toWellFormed()}…`
  if (title !== '') firstTitles.set(id, title)
}

/** Parallel calls share one request. */
export function refreshSessions(): void {
  if (isAsking) return
  isAsking = true
  call('page.sessions')
    .then((reply) => {
      sessions = reply.sessions.map((session) => ({
        ...session,
        title: session.title ?? firstTitles.get(session.id) ?? null,
      }))
      for (const listener of listeners) listener()
    })
    .catch(() => undefined)
    .finally(() => {
      isAsking = false
    })
}

const everyMs = 5_000
const look = () => document.visibilityState === 'visible' && refreshSessions()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) {
    refreshSessions()
    timer = setInterval(look, everyMs)
    document.addEventListener('visibilitychange', look)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    document.removeEventListener('visibilitychange', look)
  }
}

/** The sessions of the user, newest first; other channels' too. */
export function useSessions(): readonly PageSession[] {
  return useSyncExternalStore(subscribe, () => sessions)
}

/** The list of conversations, with archived ones on request. */
export function SessionList() {
  const { path } = usePlace()
  const sessions = useSessions()
  const [query, setQuery] = useState('')
  const [showsArchived, setShowsArchived] = useState(false)
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = sessions.filter(
    ({ title, contact, preview, state }) =>
      (showsArchived || state === 'active') &&
      words.every((word) => `${title ?? ''} ${contact} ${preview}`.toLowerCase().includes(word)),
  )
  return (
    <div className="space-y-2">
      <Link
        href="/"
        onClick={focusComposer}
        className="flex min-h-9 items-center gap-2 rounded-lg border border-line bg-ground px-2.5 text-sm font-medium hover:border-accent"
      >
        <Icon name="plus" size={16} /> {t.chat.newConversation}
      </Link>
      <TextField
        label={t.chat.searchConversations}
        isLabelHidden
        type="search"
        placeholder={t.common.search}
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      <ul>
        {found.map(({ id, title, contact, preview, channel, state, is_unread }) => {
          const isHere = path === `/talk/${id}`
          const isUnread = is_unread && !isHere
          return (
            <li key={id}>
              <Link
                href={`/talk/${id}`}
                aria-current={isHere ? 'page' : undefined}
                className={classes('block rounded-lg px-2 py-1.5 hover:bg-ground', isHere && 'bg-ground')}
              >
                <span className="flex items-center gap-1.5">
                  <span className={classes('truncate text-sm', isUnread && 'font-semibold')}>{title ?? contact}</span>
                  {isUnread && <span className="size-2 shrink-0 rounded-full bg-accent" title={t.chat.unread} />}
                  {isUnread && <span className="sr-only">{t.chat.unreadNote}</span>}
                </span>
                <span className="block truncate text-xs text-soft">
                  {[channel !== 'web' && channel, state === 'archived' && t.chat.archivedLower, preview]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
              </Link>
            </li>
          )
        })}
      </ul>
      {found.length === 0 && (
        <p className="px-2 text-sm text-soft">{words.length > 0 ? t.common.noResults : t.chat.noConversationsYet}</p>
      )}
      <label className="flex items-center gap-2 px-2 text-xs text-soft">
        <input type="checkbox" checked={showsArchived} onChange={(event) => setShowsArchived(event.target.checked)} />
        {t.chat.showArchived}
      </label>
    </div>
  )
}
