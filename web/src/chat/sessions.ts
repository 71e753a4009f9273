import { useSyncExternalStore } from 'react'
import type { FolderReply } from '../../../src/protocol/organize.ts'
import type { PageSession } from '../../../src/protocol/page.ts'
import { call } from '../api/call.ts'
import { onSessionsChanged } from '../notices/notices.ts'
import { t } from '../strings/strings.ts'

let sessions: readonly PageSession[] = []
let folders: readonly FolderReply[] = []
const listeners = new Set<() => void>()
let isAsking = false
/** Something changed while they were being read. */
let isStale = false

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
  isStale = isAsking
  if (isAsking) return
  isAsking = true
  Promise.all([call('page.sessions'), call('folders.list')])
    .then(([reply, listed]) => {
      // The same list stays the same object, so that nothing is drawn again.
      if (JSON.stringify(listed.folders) !== JSON.stringify(folders)) folders = listed.folders
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
      if (isStale) refreshSessions()
    })
}

const look = () => document.visibilityState === 'visible' && refreshSessions()
let unfollow = () => {}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) {
    refreshSessions()
    unfollow = onSessionsChanged(refreshSessions)
    document.addEventListener('visibilitychange', look)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    unfollow()
    document.removeEventListener('visibilitychange', look)
  }
}

/** The sessions of the user, newest first; other channels' too. */
export function useSessions(): readonly PageSession[] {
  return useSyncExternalStore(subscribe, () => sessions)
}

/** In the order of their names. */
export function useFolders(): readonly FolderReply[] {
  return useSyncExternalStore(subscribe, () => folders)
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
