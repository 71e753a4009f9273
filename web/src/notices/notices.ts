import { useSyncExternalStore } from 'react'
import type { Notice } from '../../../src/protocol/page.ts'
import { callRaw } from '../api/call.ts'
import { follow } from '../api/follow.ts'

/**
 * The notices of the user: what waits for an answer or is unread. One tab holds the connection to the daemon and passes
 * everything on to the others. The list is the daemon's; which of them were seen or announced is this browser's.
 */

type Told =
  | { kind: 'notices'; notices: readonly Notice[]; isFirst: boolean }
  | { kind: 'sessions' }
  | { kind: 'connection'; isConnected: boolean }
  /** A new tab asks for the current list. */
  | { kind: 'hello' }

let notices: readonly Notice[] = []
let isConnected: boolean | undefined
let hasList = false
let isLeading = false
const listeners = new Set<() => void>()
const sessionListeners = new Set<() => void>()
const connectionListeners = new Set<(isConnected: boolean) => void>()

function tell(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function useNotices(): readonly Notice[] {
  return useSyncExternalStore(subscribe, () => notices)
}

/** Undefined until the first attempt. */
export function useIsReached(): boolean | undefined {
  return useSyncExternalStore(subscribe, () => isConnected)
}

/** Called when the list of sessions may show something else. */
export function onSessionsChanged(listener: () => void): () => void {
  sessionListeners.add(listener)
  return () => void sessionListeners.delete(listener)
}

/** Called when the connection to the daemon is there, and when it breaks. */
export function onConnection(listener: (isConnected: boolean) => void): () => void {
  connectionListeners.add(listener)
  return () => void connectionListeners.delete(listener)
}

/** `isFirst`: the list as it was when the page was opened. `seen`: the same list, less of it unread. */
type Change = { kind: 'list'; isFirst: boolean } | { kind: 'seen' }

const changeListeners = new Set<(change: Change, notices: readonly Notice[]) => void>()

/** Called with each change, and the whole list. */
export function onNotices(listener: (change: Change, notices: readonly Notice[]) => void): () => void {
  changeListeners.add(listener)
  return () => void changeListeners.delete(listener)
}

function tellChange(change: Change): void {
  for (const listener of changeListeners) listener(change, notices)
  tell()
}

/** The place where a notice is answered or read. */
export function placeOf({ kind, title, session_id, build_id }: Notice): string {
  if (session_id !== null) return `/talk/${session_id}`
  if (kind === 'build_ready' || kind === 'repair_ready') return `/capabilities/${encodeURIComponent(title)}`
  return `/capabilities?build=${build_id}`
}

const seenName = 'familiar.notices.seen'
/** Far more than the daemon lists at once. */
const maxRemembered = 300

/** Names that are kept in this browser, newest last. Other tabs add to them as well. */
export function createRememberedNames(key: string) {
  function read(): string[] {
    try {
      const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
      return Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : []
    } catch {
      return []
    }
  }
  return {
    has: (name: string) => read().includes(name),
    /** The names that were not there. */
    add(names: readonly string[]): string[] {
      const known = read()
      const added = names.filter((name) => !known.includes(name))
      if (added.length > 0) localStorage.setItem(key, JSON.stringify([...known, ...added].slice(-maxRemembered)))
      return added
    },
  }
}

const seen = createRememberedNames(seenName)

/** Changes with every notice that is seen, here or in another tab. */
function seenNow(): string {
  return localStorage.getItem(seenName) ?? ''
}

/** Those that the user has not opened yet. */
export function useUnseen(): readonly Notice[] {
  const all = useNotices()
  useSyncExternalStore(subscribe, seenNow)
  return all.filter(({ id }) => !seen.has(id))
}

export const isSeen = ({ id }: Notice) => seen.has(id)

export function markSeen(some: readonly Notice[]): void {
  if (seen.add(some.map(({ id }) => id)).length === 0) return
  tellChange({ kind: 'seen' })
}

function take(told: Told): void {
  if (told.kind === 'notices') {
    const isFirst = told.isFirst || !hasList
    hasList = true
    notices = told.notices
    tellChange({ kind: 'list', isFirst })
  } else if (told.kind === 'sessions') {
    for (const listener of sessionListeners) listener()
  } else if (told.kind === 'hello') {
    if (!isLeading) return
    if (hasList) post({ kind: 'notices', notices, isFirst: false })
    if (isConnected !== undefined) post({ kind: 'connection', isConnected })
  } else if (isConnected !== told.isConnected) {
    isConnected = told.isConnected
    for (const listener of connectionListeners) listener(isConnected)
    tell()
  }
}

let channel: BroadcastChannel | undefined

function post(told: Told): void {
  channel?.postMessage(told)
}

function takeAndPass(told: Told): void {
  take(told)
  post(told)
}

/** Starts once a user is signed in. Returns the way to stop it. */
export function startNotices(): () => void {
  const controller = new AbortController()
  const { signal } = controller
  channel = 'BroadcastChannel' in window ? new BroadcastChannel('familiar.notices') : undefined
  channel?.addEventListener('message', ({ data }: MessageEvent<Told>) => take(data))
  const onStorage = ({ key }: StorageEvent) => {
    if (key === seenName) tellChange({ kind: 'seen' })
  }
  window.addEventListener('storage', onStorage)
  post({ kind: 'hello' })
  // Without locks (on an address that is not secure) each tab has its own connection.
  const lead = () => (signal.aborted ? undefined : followNotices(signal))
  const leading = channel && navigator.locks ? navigator.locks.request('familiar.notices', { signal }, lead) : lead()
  // Signed out, or an earlier Familiar without notices.
  Promise.resolve(leading).catch(() => undefined)
  return () => {
    controller.abort()
    window.removeEventListener('storage', onStorage)
    channel?.close()
    channel = undefined
    notices = []
    hasList = false
    isLeading = false
    isConnected = undefined
    tellChange({ kind: 'seen' })
  }
}

async function followNotices(signal: AbortSignal): Promise<void> {
  isLeading = true
  await follow({
    open: () => callRaw('page.notices', {}, { accept: 'text/event-stream', signal }),
    onEvent({ name, data }) {
      if (name === 'notices') takeAndPass({ kind: 'notices', ...(data as { notices: Notice[] }), isFirst: !hasList })
      if (name === 'sessions') takeAndPass({ kind: 'sessions' })
    },
    onState(isNowConnected) {
      takeAndPass({ kind: 'connection', isConnected: isNowConnected })
      // They may have changed while nothing was connected.
      if (isNowConnected) takeAndPass({ kind: 'sessions' })
    },
    signal,
  })
}

function subscribeVisible(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Whether the page is visible. */
export function useIsVisible(): boolean {
  return useSyncExternalStore(subscribeVisible, () => document.visibilityState === 'visible')
}
