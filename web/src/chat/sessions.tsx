import { useEffect, useState, useSyncExternalStore } from 'react'
import type { MemoryReply } from '../../../src/protocol/memory.ts'
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
      const pinnedFirst = reply.sessions.toSorted((a, b) => Number(b.is_pinned) - Number(a.is_pinned))
      sessions = pinnedFirst.map((session) => ({
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

const dayMs = 86_400_000

/** The heading of a conversation in the list, by the days of the calendar. */
export function groupOf({ is_pinned, updated_at }: Pick<PageSession, 'is_pinned' | 'updated_at'>, now: Date): string {
  if (is_pinned) return t.chat.pinned
  const startOfToday = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime()
  const age = (startOfToday - Date.parse(updated_at)) / dayMs
  if (age <= 0) return t.chat.today
  if (age <= 1) return t.chat.yesterday
  if (age <= 7) return t.chat.previousSevenDays
  return age <= 30 ? t.chat.previousThirtyDays : t.chat.older
}

export interface FoundPassage {
  id: string
  /** The turn in its conversation. */
  href: string
  title: string
  text: string
}

const shortestQuery = 3
const passagesAtOnce = 8

/** The passages of conversations that fit the query. Private conversations are not searched: nothing of them is kept. */
export function useFoundPassages(query: string): readonly FoundPassage[] {
  const sessions = useSessions()
  const wanted = query.trim()
  const isSearch = wanted.length >= shortestQuery && !wanted.startsWith('/')
  const [found, setFound] = useState<{ query: string; memories: readonly MemoryReply[] }>({ query: '', memories: [] })
  useEffect(() => {
    if (!isSearch) return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      const search = { q: wanted, kind: 'chunk', source: 'extracted', limit: passagesAtOnce * 2 } as const
      call('memories.search', search, { signal: controller.signal }).then(
        ({ results }) => setFound({ query: wanted, memories: results.map(({ memory }) => memory) }),
        () => undefined,
      )
    }, 150)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [wanted, isSearch])

  const passages = new Map<string, FoundPassage>()
  for (const { id, session_id, turn_id, content } of isSearch ? found.memories : []) {
    const session = sessions.find((known) => known.id === session_id)
    const href = `/talk/${session_id}?turn=${turn_id}`
    if (session && !passages.has(href)) {
      passages.set(href, { id, href, title: session.title ?? session.contact, text: content })
    }
  }
  return [...passages.values()].slice(0, passagesAtOnce)
}

function SessionEntry({ session, isHere }: { session: PageSession; isHere: boolean }) {
  const { id, title, contact, preview, channel, state, is_unread, is_private } = session
  const isUnread = is_unread && !isHere
  const about = [channel !== 'web' && channel, state === 'archived' && t.chat.archivedLower, preview]
  return (
    <li>
      <Link
        href={`/talk/${id}`}
        aria-current={isHere ? 'page' : undefined}
        className={classes('block rounded-lg px-2 py-1.5 hover:bg-ground', isHere && 'bg-ground')}
      >
        <span className="flex items-center gap-1.5">
          {is_private && <Icon name="eye_off" size={12} />}
          <span dir="auto" className={classes('truncate text-sm', isUnread && 'font-semibold')}>
            {title ?? contact}
          </span>
          {isUnread && <span className="size-2 shrink-0 rounded-full bg-accent" title={t.chat.unread} />}
          {isUnread && <span className="sr-only">{t.chat.unreadNote}</span>}
        </span>
        <span dir="auto" className="block truncate text-xs text-soft">
          {about.filter(Boolean).join(' · ')}
        </span>
      </Link>
    </li>
  )
}

/** The list of conversations by date, with archived ones on request. */
export function SessionList() {
  const { path } = usePlace()
  const sessions = useSessions()
  const [query, setQuery] = useState('')
  const [showsArchived, setShowsArchived] = useState(false)
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = sessions.filter(
    ({ title, contact, preview, state }) =>
      (showsArchived || state === 'active') &&
      words.every((word) => `${title ?? ''} ${contact} ${preview}`.toLowerCase().includes(word)),
  )
  const groups = Map.groupBy(matches, (session) => groupOf(session, new Date()))
  const passages = useFoundPassages(query)
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
        placeholder={t.chat.searchConversations}
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      {[...groups].map(([group, members]) => (
        <section key={group} aria-label={group}>
          <h2 className="px-2 pt-2 pb-0.5 text-xs font-medium text-soft">{group}</h2>
          <ul>
            {members.map((session) => (
              <SessionEntry key={session.id} session={session} isHere={path === `/talk/${session.id}`} />
            ))}
          </ul>
        </section>
      ))}
      {passages.length > 0 && (
        <section aria-label={t.chat.inConversations}>
          <h2 className="px-2 pt-2 pb-0.5 text-xs font-medium text-soft">{t.chat.inConversations}</h2>
          <ul>
            {passages.map(({ id, href, title, text }) => (
              <li key={id}>
                <Link href={href} className="block rounded-lg px-2 py-1.5 hover:bg-ground">
                  <span dir="auto" className="block truncate text-sm">
                    {title}
                  </span>
                  <span dir="auto" className="line-clamp-2 text-xs text-soft">
                    {text}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        </section>
      )}
      {matches.length === 0 && passages.length === 0 && (
        <p className="px-2 text-sm text-soft">{words.length > 0 ? t.common.noResults : t.chat.noConversationsYet}</p>
      )}
      {sessions.some(({ state }) => state === 'archived') && (
        <label className="flex items-center gap-2 px-2 text-xs text-soft">
          <input type="checkbox" checked={showsArchived} onChange={(event) => setShowsArchived(event.target.checked)} />
          {t.chat.showArchived}
        </label>
      )}
    </div>
  )
}
