import { useEffect } from 'react'

/** The name of the browser's tab, as long as a screen is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Familiar`
  }, [title])
}
