import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const tell = () => {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener('popstate', tell)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Where the page is: the path, and what stands behind the question mark. */
export function usePlace(): { path: string; query: URLSearchParams } {
  const href = useSyncExternalStore(subscribe, () => location.pathname + location.search)
  const url = new URL(href, location.origin)
  return { path: url.pathname, query: url.searchParams }
}

export function go(path: string, options: { replace?: boolean } = {}): void {
  if (path === location.pathname + location.search) return
  history[options.replace ? 'replaceState' : 'pushState'](null, '', path)
  tell()
}
