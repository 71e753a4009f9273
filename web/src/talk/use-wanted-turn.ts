import { useEffect, useRef, useState } from 'react'
import { usePlace } from '../shell/router.ts'
import type { Talk } from './use-conversation.ts'

/**
 * `/talk/<id>?turn=<turn>` leads to that turn, however far back it is: what was said before is read until it is there. Tells
 * where it is once, by `onFound`, and which one it is for as long as the address names it.
 */
export function useWantedTurn(talk: Talk, onFound: (index: number) => void): string | null {
  const { path, query } = usePlace()
  const wanted = query.get('turn')
  const place = `${path} ${wanted}`
  const reached = useRef('')
  const [isReading, setIsReading] = useState(false)
  const { items } = talk.conversation
  const index = wanted === null ? -1 : items.findIndex((item) => item.kind === 'turn' && item.id === wanted)

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each place, when enough of the conversation is there.
  useEffect(() => {
    if (wanted === null || reached.current === place || talk.state === 'loading' || isReading) return
    if (index >= 0) {
      reached.current = place
      onFound(index)
    } else if (talk.hasEarlier) {
      setIsReading(true)
      talk
        .loadEarlier()
        // What cannot be read now is read by the button at its beginning.
        .catch(() => (reached.current = place))
        .finally(() => setIsReading(false))
    }
  }, [place, index, talk.state, talk.hasEarlier, isReading])
  return wanted
}
