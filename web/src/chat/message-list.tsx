import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Button, classes, IconButton } from '../components/controls.tsx'
import { Failure, RawOnError } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { Markdown, MentionContext } from '../components/markdown.tsx'
import { usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { focusComposer } from './composer.tsx'
import { askedBy, type Item, isOwnMessage, type MessageItem } from './conversation.ts'
import { highlightWords } from './find.tsx'
import { MessageActions } from './message-actions.tsx'
import { MediaView } from './result-files.tsx'
import { TurnView } from './turn-view.tsx'
import type { OpenConversation } from './use-conversation.ts'
import type { Outgoing } from './use-outgoing.ts'

interface ItemViewProps {
  item: Item
  sessionId: string | null
  isNewest: boolean
  /** The message that a turn answers, and the messages of the turn itself, as one text: equal ones are drawn once. */
  asked: string
  /** Of a message that is not part of the conversation yet. */
  outgoing: Outgoing | undefined
  onCancel(id: string): void
  onRetry(id: string): void
}

const ItemView = memo(function ItemView(props: ItemViewProps) {
  return (
    <RawOnError raw={rawOf(props.item)}>
      <Shown {...props} />
    </RawOnError>
  )
})

function rawOf(item: Item): string {
  if (item.kind !== 'turn') return item.text
  return item.parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n\n')
}

function Shown({ item, sessionId, isNewest, asked, ...rest }: ItemViewProps) {
  switch (item.kind) {
    case 'message':
      return <MessageView {...{ item, sessionId, isNewest, ...rest }} />
    case 'turn': {
      const [messageId, ...ownIds] = asked.split(' ')
      const by = messageId ? { messageId, ownIds } : undefined
      return <TurnView turn={item} sessionId={sessionId} isNewest={isNewest} asked={by} />
    }
    case 'note':
      return <p className="text-center text-xs text-soft">{item.text}</p>
  }
}

function MessageView(props: Omit<ItemViewProps, 'asked'> & { item: MessageItem }) {
  const { item, sessionId, isNewest, outgoing, onCancel, onRetry } = props
  const { state, files = [], progress } = outgoing ?? {}
  const isOthers = !isOwnMessage(item)
  const mentions = useMemo(
    () => (sessionId && !isOthers && !outgoing ? { sessionId, messageId: item.id } : undefined),
    [sessionId, isOthers, outgoing, item.id],
  )
  return (
    <div className="group flex flex-col items-end" data-newest={isNewest || undefined}>
      <div
        className={classes(
          'max-w-[85%] rounded-2xl rounded-ee-md px-4 py-2',
          isOthers ? 'border border-line text-soft' : 'bg-accent-soft',
          outgoing && 'opacity-75',
        )}
      >
        {isOthers && <p className="text-xs">{item.source}</p>}
        <span className="sr-only">{t.chat.you} </span>
        <MentionContext value={mentions}>
          <Markdown text={item.text} />
        </MentionContext>
        {files.map((name, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name.
          <span key={index} className="flex items-center gap-1.5 text-sm text-soft">
            <Icon name="attach" size={14} /> <span className="min-w-0 truncate">{name}</span>
          </span>
        ))}
        {sessionId && item.media.length > 0 && (
          <div className="mt-2 space-y-2">
            {item.media.map((part) => (
              <MediaView key={part.hash} part={part} sessionId={sessionId} />
            ))}
          </div>
        )}
      </div>
      {!outgoing && !isOthers && <MessageActions item={item} />}
      {outgoing && (
        <p
          className={classes(
            'flex items-center gap-1 text-xs text-soft',
            state === 'sending' && progress === undefined && 'appearing-late',
          )}
        >
          {state === 'waiting' && t.offline.waitingForConnection}
          {state === 'failed' && <span className="text-bad">{t.offline.notSent(outgoing.error ?? '')}</span>}
          {(state === 'queued' || state === 'sending') &&
            (progress === undefined ? t.chat.queued : t.chat.sendingPart(Math.round(progress * 100)))}
          {state === 'failed' && (
            <button
              type="button"
              className="min-h-7 rounded px-1.5 underline underline-offset-2 hover:text-ink"
              onClick={() => onRetry(item.id)}
            >
              {t.common.tryAgain}
            </button>
          )}
          <button
            type="button"
            className="min-h-7 rounded px-1.5 underline underline-offset-2 hover:text-ink"
            onClick={() => onCancel(item.id)}
          >
            {t.common.cancel}
          </button>
        </p>
      )}
    </div>
  )
}

/**
 * `/talk/<id>?turn=<turn>` or `?message=<message>` leads to that place, however far back it is: what was said before is read
 * until it is there. Tells where it is once, by `onFound`, and which one it is for as long as the address names it.
 */
function useWantedItem(opened: OpenConversation, onFound: (index: number) => void): string | null {
  const { path, query } = usePlace()
  const [turn, message] = [query.get('turn'), query.get('message')]
  const wanted = message ?? turn
  const place = `${path} ${wanted}`
  const reached = useRef('')
  const [isReading, setIsReading] = useState(false)
  const { items } = opened.conversation
  const index =
    wanted === null
      ? -1
      : items.findIndex((item) => item.kind === (message === null ? 'turn' : 'message') && item.id === wanted)

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each place, when enough of the conversation is there.
  useEffect(() => {
    if (wanted === null || reached.current === place || opened.state === 'loading' || isReading) return
    if (index >= 0) {
      reached.current = place
      onFound(index)
    } else if (opened.hasEarlier) {
      setIsReading(true)
      opened
        .loadEarlier()
        // On failure, the button at the top loads it.
        .catch(() => (reached.current = place))
        .finally(() => setIsReading(false))
    }
  }, [place, index, opened.state, opened.hasEarlier, isReading])
  return wanted
}

/** `?word=<word>` of the address, as often as there are words: they are highlighted in the wanted item. */
function useHighlight(scroller: RefObject<HTMLDivElement | null>, index: number, isDrawn: boolean): void {
  const { path, query } = usePlace()
  const words = query.getAll('word').join('\n')
  const place = `${path} ${words} ${index}`
  const reached = useRef('')
  // biome-ignore lint/correctness/useExhaustiveDependencies: once more for each place.
  useEffect(() => {
    const box = scroller.current
    if (words === '' || index < 0 || !isDrawn || !box) return
    const row = box.querySelector(`[data-index="${index}"]`)
    if (!row) return
    const mark = () => highlightWords(row, words.split('\n'))
    const first = mark()
    // In a long reply, the words may be far below its beginning.
    if (first && reached.current !== place) {
      reached.current = place
      const at = first.getBoundingClientRect().top - box.getBoundingClientRect().top
      if (at < 0 || at > box.clientHeight - 40) box.scrollTop += at - box.clientHeight / 3
    }
    // Code and formulas are drawn again when their colors are known.
    const observer = new MutationObserver(mark)
    observer.observe(row, { childList: true, subtree: true, characterData: true })
    return () => {
      observer.disconnect()
      highlightWords(null, [])
    }
  }, [place, isDrawn])
}

function askedText(items: readonly Item[], index: number): string {
  const asked = askedBy(items, index)
  return asked ? [asked.messageId, ...asked.ownIds].join(' ') : ''
}

/** The list follows new content when the user is this close to the end. */
const nearPixels = 80

/** Draws only the visible items. New content does not scroll a user who reads further up. */
export function MessageList(props: {
  opened: OpenConversation
  outgoing: readonly Outgoing[]
  sessionId: string | null
  onCancel(id: string): void
  onRetry(id: string): void
}) {
  const { opened, outgoing, sessionId, onCancel, onRetry } = props
  const { items: shown } = opened.conversation
  const items: readonly Item[] = outgoing.length === 0 ? shown : [...shown, ...outgoing.map(({ item }) => item)]
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const lastTop = useRef(0)
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
  const firstOfNewest = Math.max(
    items.findLastIndex(({ kind }) => kind === 'message'),
    0,
  )
  const wantedItem = useWantedItem(opened, (index) => {
    isAtEnd.current = false
    virtual.scrollToIndex(index, { align: 'start' })
  })

  const wantedIndex = wantedItem === null ? -1 : items.findIndex(({ id }) => id === wantedItem)
  useHighlight(
    scroller,
    wantedIndex,
    virtual.getVirtualItems().some(({ index }) => index === wantedIndex),
  )

  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the content has grown.
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
    setHasMoreBelow(!isAtEnd.current && restBelow() >= nearPixels)
  }, [height, items])

  useEffect(() => {
    if (sessionId !== null) isAtEnd.current = true
  }, [sessionId])

  // Scroll to a message that was just sent.
  useEffect(() => {
    const element = scroller.current
    if (!element || outgoing.length === 0) return
    isAtEnd.current = true
    element.scrollTop = element.scrollHeight
  }, [outgoing.length])

  // The field below grows with its text, and a command shows its output there: the end stays visible.
  // biome-ignore lint/correctness/useExhaustiveDependencies: one observer for the life of the list.
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const observer = new ResizeObserver(() => {
      if (restBelow() < nearPixels) isAtEnd.current = true
      if (isAtEnd.current) element.scrollTop = element.scrollHeight
      setHasMoreBelow(!isAtEnd.current)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  function restBelow(): number {
    const element = scroller.current
    return element ? element.scrollHeight - element.scrollTop - element.clientHeight : 0
  }

  function onScroll(): void {
    const top = scroller.current?.scrollTop ?? 0
    if (restBelow() < nearPixels) isAtEnd.current = true
    // Only a step up leaves the end. Rows that turn out higher than estimated also leave something below.
    else if (top < lastTop.current) isAtEnd.current = false
    lastTop.current = top
    setHasMoreBelow(!isAtEnd.current)
  }

  function toNewest(): void {
    isAtEnd.current = true
    setHasMoreBelow(false)
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
    focusComposer()
  }

  async function loadEarlier(): Promise<void> {
    const element = scroller.current
    const below = element ? element.scrollHeight - element.scrollTop : 0
    await opened.loadEarlier()
    // The visible messages keep their place.
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
        aria-label={t.common.conversation}
      >
        {opened.hasEarlier && (
          <div className="pt-4 text-center">
            <Button size="small" kind="quiet" onClick={() => void loadEarlier()}>
              {t.chat.showEarlierMessages}
            </Button>
          </div>
        )}
        {opened.state === 'failed' && opened.error && (
          <div className="mx-auto max-w-3xl p-4">
            <Failure error={opened.error} />
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
                  className={classes(
                    'mx-auto max-w-3xl border-s-4 border-transparent ps-3 pe-4 sm:ps-5 sm:pe-6',
                    // The line of actions under a message is the gap to the reply.
                    item.kind === 'message' ? 'pb-1' : 'pb-5 aria-[current=location]:border-accent',
                  )}
                  aria-current={item.kind !== 'note' && item.id === wantedItem ? 'location' : undefined}
                >
                  <ItemView
                    item={item}
                    sessionId={sessionId}
                    isNewest={row.index >= firstOfNewest}
                    asked={item.kind === 'turn' ? askedText(items, row.index) : ''}
                    outgoing={outgoing[row.index - shown.length]}
                    onCancel={onCancel}
                    onRetry={onRetry}
                  />
                </div>
              </div>
            )
          })}
        </div>
      </div>
      {hasMoreBelow && (
        <IconButton
          label={t.chat.jumpToLatest}
          className="absolute end-4 bottom-3 border border-line bg-raised shadow-md"
          onClick={toNewest}
        >
          <Icon name="arrow_down" />
        </IconButton>
      )}
    </div>
  )
}
