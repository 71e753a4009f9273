import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Button, IconButton } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Failure } from '../components/notice.tsx'
import type { Item, MessageItem } from './conversation.ts'
import { ItemView } from './item-view.tsx'
import type { Talk } from './use-conversation.ts'
import { useWantedTurn } from './use-wanted-turn.ts'

/** How near to the end somebody must be to be taken along when more comes. */
const nearPixels = 80

/** Only what is in sight is drawn, however long the conversation is. Whoever reads further up is left in peace. */
export function MessageList(props: { talk: Talk; waiting: readonly MessageItem[]; sessionId: string | null }) {
  const { talk, waiting, sessionId } = props
  const { items: shown } = talk.conversation
  const items: readonly Item[] = waiting.length === 0 ? shown : [...shown, ...waiting]
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const [hasMoreBelow, setHasMoreBelow] = useState(false)

  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 120,
    overscan: 6,
    getItemKey: (index) => items[index]?.id ?? index,
    paddingStart: 16,
    paddingEnd: 24,
  })
  const height = virtual.getTotalSize()
  const wantedTurn = useWantedTurn(talk, (index) => {
    isAtEnd.current = false
    virtual.scrollToIndex(index, { align: 'start' })
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the content has grown.
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [height, items])

  useEffect(() => {
    if (sessionId !== null) isAtEnd.current = true
  }, [sessionId])

  // Whoever says something sees it.
  useEffect(() => {
    const element = scroller.current
    if (!element || waiting.length === 0) return
    isAtEnd.current = true
    element.scrollTop = element.scrollHeight
  }, [waiting.length])

  function onScroll(): void {
    const element = scroller.current
    if (!element) return
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < nearPixels
    setHasMoreBelow(!isAtEnd.current)
  }

  async function loadEarlier(): Promise<void> {
    const element = scroller.current
    const below = element ? element.scrollHeight - element.scrollTop : 0
    await talk.loadEarlier()
    // What was in sight stays where it was.
    requestAnimationFrame(() => {
      if (element) element.scrollTop = element.scrollHeight - below
    })
  }

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        onScroll={onScroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className="h-full overflow-y-auto outline-none"
        role="log"
        aria-label="Conversation"
      >
        {talk.hasEarlier && (
          <div className="pt-4 text-center">
            <Button size="small" kind="quiet" onClick={() => void loadEarlier()}>
              Show what was said before
            </Button>
          </div>
        )}
        {talk.state === 'failed' && talk.error && (
          <div className="mx-auto max-w-3xl p-4">
            <Failure error={talk.error} />
          </div>
        )}
        <div className="relative w-full" style={{ height }}>
          {virtual.getVirtualItems().map((row) => {
            const item = items[row.index]
            if (!item) return null
            return (
              <div
                key={row.key}
                ref={virtual.measureElement}
                data-index={row.index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${row.start}px)` }}
              >
                <div
                  className="mx-auto max-w-3xl border-s-4 border-transparent ps-3 pe-4 pb-5 aria-[current=location]:border-accent sm:ps-5 sm:pe-6"
                  aria-current={item.kind === 'turn' && item.id === wantedTurn ? 'location' : undefined}
                >
                  <ItemView item={item} sessionId={sessionId} isWaiting={row.index >= shown.length} />
                </div>
              </div>
            )
          })}
        </div>
      </div>
      {hasMoreBelow && (
        <IconButton
          label="To the newest"
          className="absolute right-4 bottom-3 border border-line bg-raised shadow-md"
          onClick={() => scroller.current?.scrollTo({ top: scroller.current.scrollHeight })}
        >
          <Icon name="arrow_down" />
        </IconButton>
      )}
    </div>
  )
}
