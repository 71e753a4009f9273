import type { AnchorHTMLAttributes, MouseEvent } from 'react'
import { go } from './router.ts'

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
