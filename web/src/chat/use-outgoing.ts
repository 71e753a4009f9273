import { useCallback, useEffect, useRef, useState } from 'react'
import { call, type Reply } from '../api/call.ts'
import { useToasts } from '../components/feedback.tsx'
import type { useClientTools } from '../memory/private/client-tools.ts'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import type { Draft } from './composer.tsx'
import type { NewConversation } from './composer-options.tsx'
import { type Conversation, isWorking, type MessageItem } from './conversation.ts'
import { refreshSessions, titleNewSession } from './sessions.ts'

/** A message that is not part of the conversation yet: being sent, or queued behind the running turn. */
export interface Outgoing {
  item: MessageItem
  /** `queued`: a turn is running, and this message waits for its end. */
  state: 'sending' | 'queued'
}

interface Entry {
  item: MessageItem
  /** The session, or the name of a new one. */
  place: string
  /** Known once the message is accepted. */
  messageId?: string
}

/** Sends messages in the order in which they were typed, and shows them until the conversation does. */
export function useOutgoing(options: {
  sessionId: string | null
  conversation: Conversation
  clientTools: ReturnType<typeof useClientTools>
  /** For the conversation that the next message starts, where none is open. */
  chosen: NewConversation
}) {
  const { sessionId, conversation, clientTools, chosen } = options
  const toasts = useToasts()
  const [entries, setEntries] = useState<readonly Entry[]>([])
  const last = useRef<Promise<unknown>>(Promise.resolve())
  const accepted = useRef(new Map<string, Promise<Reply<'chat.notify'>>>())
  const shown = useRef(sessionId)
  /** The name of the new conversation, from its first message until it is left. */
  const newName = useRef<string | null>(null)
  /** The sessions that new conversations of this page became, by their names. */
  const begun = useRef(new Map<string, string>())
  const isAt = (place: string, session: string | null) => place === session || begun.current.get(place) === session

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each session.
  useEffect(() => {
    shown.current = sessionId
    if (sessionId !== null) newName.current = null
    // Accepted messages of other sessions are read again when these are shown.
    setEntries((all) => all.filter(({ place, messageId }) => messageId === undefined || isAt(place, sessionId)))
    if (sessionId === null) return
    const controller = new AbortController()
    call('sessions.queue', { id: sessionId }, { signal: controller.signal }).then(
      ({ messages }) =>
        setEntries((all) => [
          ...messages
            .filter(({ message_id }) => !all.some(({ messageId }) => messageId === message_id))
            .map(({ message_id, message }) => ({
              item: itemOf(message_id, message),
              place: sessionId,
              messageId: message_id,
            })),
          ...all,
        ]),
      // A queued message appears when it is answered.
      () => undefined,
    )
    return () => controller.abort()
  }, [sessionId])

  const send = useCallback(
    async ({ text, attachments, answers }: Draft & { answers?: string }): Promise<boolean> => {
      const key = crypto.randomUUID()
      if (sessionId === null) newName.current ??= nameOfNow()
      const place = sessionId ?? newName.current ?? ''
      setEntries((all) => [...all, { item: itemOf(key, text), place }])

      async function post(): Promise<Reply<'chat.notify'>> {
        const start = {
          ...(chosen.model !== '' && { model: chosen.model }),
          ...(chosen.isPrivate && { private: true }),
        }
        const where = sessionId === null ? { session: place, channel: 'web', ...start } : { session: sessionId }
        const tools = await clientTools.forMessage()
        return call('chat.post', {
          ...where,
          message: text,
          source: 'web',
          key,
          attachments,
          ...tools,
          ...(answers && { answers }),
        })
      }
      // One after the other, so that they arrive in order.
      const sent = last.current.then(post)
      last.current = sent.catch(() => undefined)
      accepted.current.set(key, sent)
      try {
        const { message_id, session_id } = await sent
        await clientTools.noteSent(message_id)
        setEntries((all) => all.map((entry) => (entry.item.id === key ? { ...entry, messageId: message_id } : entry)))
        if (shown.current === null && newName.current === place) {
          begun.current.set(place, session_id)
          titleNewSession(session_id, text)
          go(`/talk/${session_id}`)
        }
        refreshSessions()
        return true
      } catch (error) {
        setEntries((all) => all.filter(({ item }) => item.id !== key))
        toasts.failed(error)
        return false
      }
    },
    [sessionId, toasts, clientTools, chosen],
  )

  const cancel = useCallback(
    async (id: string) => {
      try {
        const receipt = await accepted.current.get(id)
        const session = receipt?.session_id ?? shown.current ?? ''
        await call('sessions.cancelQueued', { id: session, message: receipt?.message_id ?? id })
        setEntries((all) => all.filter((entry) => entry.item.id !== id))
        toasts.done(t.chat.messageCanceled)
      } catch (error) {
        toasts.failed(error)
      }
    },
    [toasts],
  )

  // Once shown it is part of the conversation, also where the conversation later goes back to before it.
  useEffect(() => {
    const isShown = ({ messageId }: Entry) => messageId !== undefined && isOver(conversation, messageId)
    setEntries((all) => (all.some(isShown) ? all.filter((entry) => !isShown(entry)) : all))
  }, [conversation])

  const here = sessionId ?? newName.current
  const state = isWorking(conversation) ? 'queued' : 'sending'
  const outgoing = entries
    .filter(({ place, messageId }) => isAt(place, here) && !(messageId && isOver(conversation, messageId)))
    .map(({ item }): Outgoing => ({ item, state }))
  /** A new conversation now has an id: the text being typed stays with it. */
  const isBegunHere = [...begun.current.values()].includes(sessionId ?? '')
  return { outgoing, send, cancel, isBegunHere }
}

/** The conversation shows it, or it was canceled, perhaps in another tab. */
function isOver({ items, canceled }: Conversation, messageId: string): boolean {
  return canceled?.includes(messageId) || items.some(({ kind, id }) => kind === 'message' && id === messageId)
}

function itemOf(id: string, text: string): MessageItem {
  return { kind: 'message', id, seq: Number.POSITIVE_INFINITY, text, sender: '', source: 'web', media: [] }
}

/** The unique name of a new session. The page shows its title instead. */
function nameOfNow(): string {
  const now = new Date()
  const day = now.toISOString().slice(0, 10)
  return `${day} ${now.toTimeString().slice(0, 8).replaceAll(':', '.')}`
}
