import { type AnchorHTMLAttributes, type MouseEvent, useCallback, useEffect, useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const tell = () => {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener('popstate', tell)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** The current location: path and query. */
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

/** A link inside the page. With a key held down it is the browser's: a new tab, a download. */
export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  function follow(event: MouseEvent<HTMLAnchorElement>): void {
    onClick?.(event)
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(href)
  }
  return <a href={href} onClick={follow} {...rest} />
}

/** The second part of a path, such as `x y` of `/blocks/x%20y`; undefined where there is none. */
export function partBehind(path: string): string | undefined {
  const [, , part] = path.split('/')
  if (!part) return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    // A mistyped address: no entry has this name.
    return part
  }
}

/** A value in the query of the address, so that a reload and a link show the same; an empty value removes it. */
export function useQueryValue(name: string, otherwise = ''): [value: string, set: (value: string) => void] {
  const { query } = usePlace()
  const set = useCallback(
    (value: string) => {
      const next = new URLSearchParams(location.search)
      if (value === '' || value === otherwise) next.delete(name)
      else next.set(name, value)
      go(`${location.pathname}${next.size > 0 ? `?${next}` : ''}`, { replace: true })
    },
    [name, otherwise],
  )
  return [query.get(name) ?? otherwise, set]
}

let shownTitle = ''
let titleCount = 0

function writeTitle(): void {
  const name = shownTitle === '' ? 'Familiar' : `${shownTitle} · Familiar`
  document.title = titleCount > 0 ? `(${titleCount}) ${name}` : name
}

/** The name of the browser's tab, as long as a screen is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    shownTitle = title
    writeTitle()
  }, [title])
}

/** The number of unread notices in front of the name. */
export function setTitleCount(count: number): void {
  titleCount = count
  writeTitle()
}
