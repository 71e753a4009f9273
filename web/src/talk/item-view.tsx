import { memo } from 'react'
import { classes } from '../components/classes.ts'
import { Markdown } from '../components/markdown.tsx'
import type { Item, MessageItem } from './conversation.ts'
import { MediaView } from './media-view.tsx'
import { MessageActions } from './message-actions.tsx'
import { TurnView } from './turn-view.tsx'

interface ItemViewProps {
  item: Item
  sessionId: string | null
  /** It is on its way and not kept yet. */
  isWaiting: boolean
}

export const ItemView = memo(function ItemView({ item, sessionId, isWaiting }: ItemViewProps) {
  switch (item.kind) {
    case 'message':
      return <MessageView item={item} isWaiting={isWaiting} sessionId={sessionId} />
    case 'turn':
      return <TurnView turn={item} sessionId={sessionId} />
    case 'note':
      return <p className="text-center text-xs text-soft">{item.text}</p>
  }
})

function MessageView({
  item,
  isWaiting,
  sessionId,
}: {
  item: MessageItem
  isWaiting: boolean
  sessionId: string | null
}) {
  const isOthers = item.source === 'schedule' || item.source === 'system'
  return (
    <div className="group flex flex-col items-end">
      <div
        className={classes(
          'max-w-[85%] rounded-2xl rounded-br-md px-4 py-2',
          isOthers ? 'border border-line text-soft' : 'bg-accent-soft',
          isWaiting && 'opacity-60',
        )}
      >
        {isOthers && <p className="text-xs">{item.source}</p>}
        <span className="sr-only">You: </span>
        <Markdown text={item.text} />
        {sessionId && item.media.map((part) => <MediaView key={part.hash} part={part} sessionId={sessionId} />)}
      </div>
      {!isWaiting && !isOthers && <MessageActions item={item} sessionId={sessionId} />}
    </div>
  )
}
