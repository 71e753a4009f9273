import { useCallback, useEffect, useRef, useState } from 'react'
import type { MemoriesReply, MemoryReply } from '../../../src/protocol/memory-api.ts'
import { type AskOptions, ask } from '../api/ask.ts'

interface Pages {
  memories: readonly MemoryReply[]
  /** Null on the last page; undefined before the first. */
  cursor: string | null | undefined
  error?: Error
}

const none: Pages = { memories: [], cursor: undefined }
const pageSize = 50

/** The list of memories, page after page, newest first. */
export function useMemoryPages(query: NonNullable<AskOptions['query']>) {
  const [pages, setPages] = useState(none)
  const [isLoading, setIsLoading] = useState(true)
  const [turn, setTurn] = useState(0)
  const key = JSON.stringify(query)
  /** Ends what was asked for another list. */
  const current = useRef(new AbortController())

  const load = useCallback(
    async (cursor: string | undefined, signal: AbortSignal) => {
      const wanted = JSON.parse(key) as NonNullable<AskOptions['query']>
      setIsLoading(true)
      try {
        const page = await ask<MemoriesReply>('/memories', {
          query: { ...wanted, limit: pageSize, cursor },
          signal,
        })
        setPages(({ memories }) => ({
          memories: cursor === undefined ? page.memories : [...memories, ...page.memories],
          cursor: page.next_cursor,
        }))
        setIsLoading(false)
      } catch (error) {
        if (signal.aborted) return
        setPages((before) => ({ ...before, error: error instanceof Error ? error : new Error(String(error)) }))
        setIsLoading(false)
      }
    },
    [key],
  )

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` is what asks again.
  useEffect(() => {
    const controller = new AbortController()
    current.current = controller
    void load(undefined, controller.signal)
    return () => controller.abort()
  }, [load, turn])

  const more = useCallback(() => {
    if (!isLoading && pages.cursor) void load(pages.cursor, current.current.signal)
  }, [isLoading, pages.cursor, load])
  const refresh = useCallback(() => setTurn((before) => before + 1), [])
  const remove = useCallback(
    (id: string) => setPages((all) => ({ ...all, memories: all.memories.filter((memory) => memory.id !== id) })),
    [],
  )
  return {
    memories: pages.memories,
    error: pages.error,
    // After a failure it waits to be asked: what comes into view would ask again and again.
    hasMore: Boolean(pages.cursor) && !pages.error,
    isLoading,
    more,
    refresh,
    remove,
  }
}
