import { useEffect, useRef, useState } from 'react'
import type { BuildEvent, BuildEventsReply } from '../../../../src/protocol/build-api.ts'
import { ask } from '../../api/ask.ts'
import { follow } from '../../api/follow.ts'
import { addBuildEvent, type BuildStory, emptyStory } from './build-story.ts'
import { useIsVisible } from './use-is-visible.ts'

/**
 * A build from its beginning, followed to its end. Only one that still runs has a connection of its own, and only while the page
 * is looked at: a browser has few of them.
 */
export function useBuild(id: string): { story: BuildStory; isLoaded: boolean; error: Error | undefined } {
  const [story, setStory] = useState(emptyStory)
  const [isLoaded, setIsLoaded] = useState(false)
  const [error, setError] = useState<Error>()
  const isVisible = useIsVisible()
  const current = useRef({ id, story: emptyStory })

  useEffect(() => {
    if (current.current.id !== id) current.current = { id, story: emptyStory }
    if (!isVisible || current.current.story.end !== null) return
    const controller = new AbortController()
    const { signal } = controller

    function add(events: readonly BuildEvent[]): void {
      current.current.story = events.reduce(addBuildEvent, current.current.story)
      setStory(current.current.story)
      // The stream is over, and would only be asked for again and again.
      if (current.current.story.end !== null) controller.abort()
    }

    async function watch(): Promise<void> {
      const from = () => `/builds/${encodeURIComponent(id)}/events?after=${current.current.story.cursor}`
      add((await ask<BuildEventsReply>(from(), { signal })).events)
      setIsLoaded(true)
      if (signal.aborted) return
      await follow({
        path: () => `/api/v1${from()}`,
        // Only builds send under the standard's own name; an error of the stream itself ends it.
        onEvent: ({ name, data }) => name === 'message' && add([data as BuildEvent]),
        signal,
      })
    }
    watch().catch((cause: Error) => {
      if (!signal.aborted) setError(cause)
    })
    return () => controller.abort()
  }, [id, isVisible])

  return { story, isLoaded, error }
}
