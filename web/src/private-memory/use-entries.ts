import { useEffect, useState } from 'react'
import { useWho } from '../shell/who.ts'
import { inOrder, type PrivateEntry } from './private-entry.ts'
import { onEntriesChanged, openPrivateStore } from './private-store.ts'

/** What is kept in this browser, in its order; undefined until it is read. */
export function useEntries(): { entries: readonly PrivateEntry[] | undefined; error: Error | undefined } {
  const { name } = useWho()
  const [entries, setEntries] = useState<readonly PrivateEntry[]>()
  const [error, setError] = useState<Error>()
  useEffect(() => {
    let isShown = true
    async function read(): Promise<void> {
      try {
        const store = await openPrivateStore(name)
        const found = await store.list()
        if (isShown) setEntries(inOrder(found))
      } catch (cause) {
        if (isShown) setError(cause instanceof Error ? cause : new Error(String(cause)))
      }
    }
    void read()
    const stop = onEntriesChanged(() => void read())
    return () => {
      isShown = false
      stop()
    }
  }, [name])
  return { entries, error }
}
