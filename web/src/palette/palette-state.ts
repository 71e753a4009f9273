import { useSyncExternalStore } from 'react'

type Shown = 'palette' | 'keys' | null

let shown: Shown = null
const listeners = new Set<() => void>()

export function showOverPage(next: Shown): void {
  shown = next
  for (const listener of listeners) listener()
}

/** Which of the two dialogs is over the page. */
export function useShownOverPage(): Shown {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => shown,
  )
}
