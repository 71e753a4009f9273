import { useSyncExternalStore } from 'react'
import { call } from '../api/call.ts'

/** Whether a language model answers; undefined until that is known. Shared, because several places of the page show it. */
let isConnected: boolean | undefined
const listeners = new Set<() => void>()

/** Asks again, for example after a model was connected. */
export async function refreshConnection(): Promise<void> {
  const reply = await call('home.models').catch(() => undefined)
  if (!reply) return
  isConnected = reply.models.some(({ id, is_offline }) => id === reply.current && !is_offline)
  for (const listener of listeners) listener()
}

const look = () => void refreshConnection()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) {
    look()
    // A model may be connected in a terminal: the user comes back from there.
    addEventListener('focus', look)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) removeEventListener('focus', look)
  }
}

export function useIsConnected(): boolean | undefined {
  return useSyncExternalStore(subscribe, () => isConnected)
}
