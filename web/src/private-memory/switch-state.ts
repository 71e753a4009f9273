import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const keyOf = (userName: string) => `familiar.private-memory.on.${userName}`

/** Whether Familiar may use this browser's memory. Off until the user says otherwise, here. */
export function isSwitchedOn(userName: string): boolean {
  return localStorage.getItem(keyOf(userName)) === 'yes'
}

export function switchTo(userName: string, isOn: boolean): void {
  if (isOn) localStorage.setItem(keyOf(userName), 'yes')
  else localStorage.removeItem(keyOf(userName))
  for (const listener of listeners) listener()
}

export function useIsSwitchedOn(userName: string): boolean {
  return useSyncExternalStore(subscribe, () => isSwitchedOn(userName))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  // Another tab's word counts here as well.
  window.addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
  }
}
