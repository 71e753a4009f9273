import { useEffect, useRef, useSyncExternalStore } from 'react'
import type { MediaPart } from '../../../src/protocol/messages.ts'
import type { Item } from '../chat/conversation.ts'
import { later, OutOfDate } from '../components/later.tsx'
import { usePlace } from '../shell/router.tsx'

/** The content of the preview pane: a code block, a file of a conversation, or a file that a message names. */
export type PreviewSource =
  | { from: 'code'; code: string; info: string }
  | { from: 'media'; part: MediaPart; sessionId: string }
  | { from: 'mention'; sessionId: string; messageId: string; name: string }

interface Opened {
  id: number
  source: PreviewSource
  opener: Element | null
}

let opened: Opened | undefined
let count = 0
let items: readonly Item[] = []
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function tell(): void {
  for (const listener of listeners) listener()
}

/** Opens the pane, or shows something else in it. */
export function openPreview(source: PreviewSource): void {
  count += 1
  const { activeElement } = document
  const isInside = activeElement?.closest('[data-preview]') && opened
  opened = { id: count, source, opener: isInside ? isInside.opener : activeElement }
  tell()
}

/** The focus goes back to the element that opened the pane, or to the screen where that is gone. */
export function closePreview(): void {
  const { opener } = opened ?? {}
  opened = undefined
  tell()
  const isUsable = opener instanceof HTMLElement && opener.isConnected && opener !== document.body
  const target = isUsable ? opener : document.getElementById('main')
  // After the pane is gone: a sheet keeps the focus inside itself.
  setTimeout(() => target?.focus())
}

/** The conversation on the screen: it has the other versions of what is shown. */
export function useSharedConversation(shown: readonly Item[]): void {
  useEffect(() => {
    items = shown
    if (opened) tell()
  }, [shown])
  useEffect(() => {
    return () => {
      items = []
    }
  }, [])
}

export const useConversationItems = () => useSyncExternalStore(subscribe, () => items)

const Pane = later<{ source: PreviewSource }>(
  async () => (await import('./preview-pane.tsx')).PreviewPane,
  () => <OutOfDate onClose={closePreview} />,
)

/** The place of the pane, beside every screen. Another screen or conversation closes it. */
export function PreviewHost() {
  const shown = useSyncExternalStore(subscribe, () => opened)
  const { path } = usePlace()
  const before = useRef(path)
  useEffect(() => {
    // A new conversation gets its address with its first message.
    const isSame = before.current === path || (before.current === '/' && path.startsWith('/talk/'))
    before.current = path
    if (isSame || !opened) return
    opened = undefined
    tell()
  }, [path])
  if (!shown) return null
  return <Pane key={shown.id} source={shown.source} />
}
