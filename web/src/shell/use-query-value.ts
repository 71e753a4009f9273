import { useCallback } from 'react'
import { go, usePlace } from './router.ts'

/** What the address says under a name, so that a reload and a link show the same; an empty value takes it out. */
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
