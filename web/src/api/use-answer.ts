import { useCallback, useEffect, useRef, useState } from 'react'
import { type AskOptions, ask } from './ask.ts'

export interface Answer<T> {
  /** The newest that came; stays while it is asked again. */
  data: T | undefined
  error: Error | undefined
  isLoading: boolean
  /** Asks again. */
  refresh(): void
  /** Shows this until the next answer. */
  put(data: T): void
}

/**
 * What the daemon says to a GET, asked again when the path or the query changes. With `everyMs` also from time to time, as
 * long as the page is looked at. A null path asks nothing.
 */
export function useAnswer<T>(
  path: string | null,
  options: { query?: AskOptions['query']; everyMs?: number } = {},
): Answer<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; isLoading: boolean }>({ isLoading: path !== null })
  const [turn, setTurn] = useState(0)
  const query = JSON.stringify(options.query ?? {})
  const shown = useRef(path)

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` is what asks again.
  useEffect(() => {
    if (path === null) return setState({ isLoading: false })
    const controller = new AbortController()
    // Another thing is asked for: what is shown would be wrong.
    const isOther = shown.current !== path
    shown.current = path
    setState((before) => (isOther ? { isLoading: true } : { ...before, isLoading: true }))
    ask<T>(path, { query: JSON.parse(query) as NonNullable<AskOptions['query']>, signal: controller.signal }).then(
      (data) => setState({ data, isLoading: false }),
      (error: Error) => {
        if (!controller.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }))
      },
    )
    return () => controller.abort()
  }, [path, query, turn])

  const refresh = useCallback(() => setTurn((before) => before + 1), [])
  const put = useCallback((data: T) => setState({ data, isLoading: false }), [])

  const { everyMs } = options
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), everyMs)
    return () => clearInterval(timer)
  }, [everyMs, refresh])

  return { data: state.data, error: state.error, isLoading: state.isLoading, refresh, put }
}
