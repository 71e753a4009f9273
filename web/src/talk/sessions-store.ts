import { useSyncExternalStore } from 'react'
import type { PageSession, PageSessionsReply } from '../../../src/protocol/page-api.ts'
import { ask } from '../api/ask.ts'

let sessions: readonly PageSession[] = []
const listeners = new Set<() => void>()
let isAsking = false
let timer: ReturnType<typeof setInterval> | undefined

/** Asks once, however many ask for it at the same time. */
export function refreshSessions(): void {
  if (isAsking) return
  isAsking = true
  ask<PageSessionsReply>('/page/sessions')
    .then((reply) => {
      sessions = reply.sessions
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
