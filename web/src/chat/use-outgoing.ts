import { useCallback, useEffect, useRef, useState } from 'react'
import { call, type Reply } from '../api/call.ts'
import { useToasts } from '../components/feedback.tsx'
import type { useClientTools } from '../memory/private/use-client-tools.ts'
import {
  cancelWaiting,
  forgetMessage,
  isUnreached,
  keepMessage,
  onOutbox,
  retryWaiting,
  scheduleSending,
  waitingOf,
} from '../offline/outbox.ts'
import type { WaitingMessage } from '../offline/waiting-store.ts'
import { useWho } from '../shell/account.tsx'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import type { NewConversation } from './composer-options.tsx'
import { type Conversation, isWorking, type MessageItem } from './conversation.ts'
import type { Draft } from './drafts.ts'
import { refreshSessions, titleNewSession } from './sessions.ts'

/** A message that is not part of the conversation yet: being sent, or queued behind the running turn. */
export interface Outgoing {
  item: MessageItem
  /**
   * `queued`: a turn is running, and this message waits for its end. `waiting`: the daemon was not reached, and the message
   * is kept in this browser. `failed`: the daemon refused it afterwards.
   */
  state: 'sending' | 'queued' | 'waiting' | 'failed'
  error?: string | undefined
  /** The names of its files. */
  files?: readonly string[]
  /** Of a large upload: 0 to 1. */
  progress?: number | undefined
}

interface Entry {
  item: MessageItem
  /** The session, or the name of a new one. */
  place: string
  /** Known once the message is accepted. */
  messageId?: string
  isWaiting?: boolean
  error?: string
  files?: readonly string[]
  progress?: number
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
  const { name: user } = useWho()
  const [entries, setEntries] = useState<readonly Entry[]>([])
  const known = useRef(entries)
  known.current = entries
  /** Something of this user waits for the daemon: what is typed now waits behind it. */
  const hasWaiting = useRef(false)
  /** On their way from here: they are in the store as well, but nothing waits behind them. */
  const posting = useRef(new Set<string>())
  const last = useRef<Promise<unknown>>(Promise.resolve())
  const accepted = useRef(new Map<string, Promise<Reply<'chat.post'> | undefined>>())
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

  /** The daemon has it: it is queued or answered, and a new conversation has its id. */
  const accept = useCallback((key: string, receipt: Reply<'chat.post'>) => {
    const { message_id, session_id } = receipt
    accepted.current.set(key, Promise.resolve(receipt))
    const entry = known.current.find(({ item }) => item.id === key)
    setEntries((all) =>
      all.map((one) => {
        if (one.item.id !== key) return one
        return { item: one.item, place: one.place, messageId: message_id, ...(one.files && { files: one.files }) }
      }),
    )
    if (entry && shown.current === null && newName.current === entry.place) {
      begun.current.set(entry.place, session_id)
      titleNewSession(session_id, entry.item.text)
      go(`/talk/${session_id}`)
    }
    refreshSessions()
  }, [])

  // Messages that wait in this browser: from before a reload, and as this or another tab sends them.
  useEffect(() => {
    function show(messages: readonly WaitingMessage[]): void {
      hasWaiting.current = messages.some(({ key, error }) => error === undefined && !posting.current.has(key))
      // After a reload, the new conversation that waits is the one that is shown.
      if (shown.current === null) newName.current ??= messages.findLast((one) => one.isNewConversation)?.place ?? null
      const kept = new Map(messages.map((message) => [message.key, message]))
      setEntries((all) => [
        ...messages
          .filter(({ key }) => !all.some(({ item }) => item.id === key))
          .map(({ key, text, place, error, body }) => ({
            item: itemOf(key, text),
            place,
            files: namesOf(body.attachments),
            isWaiting: true,
            ...(error !== undefined && { error }),
          })),
        ...all
          .filter(({ item, isWaiting }) => !isWaiting || kept.has(item.id))
          .map((entry) => {
            const error = kept.get(entry.item.id)?.error
            const { error: _, ...rest } = entry
            return error === undefined ? rest : { ...rest, error }
          }),
      ])
    }

    const unfollow = onOutbox((news) => {
      if (news.kind === 'sent') accept(news.key, news.receipt)
      else show(news.messages)
    })
    // A store that cannot be read holds nothing.
    waitingOf(user).then(show, () => undefined)
    return unfollow
  }, [user, accept])

  const send = useCallback(
    async ({ text, attachments, answers }: Draft & { answers?: string }): Promise<boolean> => {
      const key = crypto.randomUUID()
      const isNewConversation = sessionId === null
      if (isNewConversation) newName.current ??= nameOfNow()
      const place = sessionId ?? newName.current ?? ''
      setEntries((all) => [...all, { item: itemOf(key, text), place, files: namesOf(attachments) }])
      const markWaiting = () => {
        hasWaiting.current = true
        setEntries((all) => all.map((entry) => (entry.item.id === key ? { ...entry, isWaiting: true } : entry)))
      }

      /** Undefined where it waits for the daemon. */
      async function post(): Promise<Reply<'chat.post'> | undefined> {
        const start = {
          ...(chosen.model !== '' && { model: chosen.model }),
          ...(chosen.isPrivate && { private: true }),
        }
        const body = {
          ...(isNewConversation ? { session: place, channel: 'web', ...start } : { session: place }),
          message: text,
          source: 'web',
          key,
          attachments,
          ...(await clientTools.forMessage()),
          ...(answers && { answers }),
        }
        posting.current.add(key)
        // A browser without a store sends as well: only a broken connection then gives the text back.
        const isKept = await keepMessage({ key, user, place, isNewConversation, text, body }).then(
          () => true,
          () => false,
        )
        if (isKept && hasWaiting.current) {
          markWaiting()
          void scheduleSending(user).catch(() => undefined)
          return undefined
        }
        try {
          const onProgress = (progress: number) =>
            setEntries((all) => all.map((entry) => (entry.item.id === key ? { ...entry, progress } : entry)))
          const receipt = await call('chat.post', body, { onProgress })
          await forgetMessage(key).catch(() => undefined)
          return receipt
        } catch (error) {
          if (isKept && isUnreached(error)) {
            markWaiting()
            void scheduleSending(user).catch(() => undefined)
            return undefined
          }
          await forgetMessage(key).catch(() => undefined)
          throw error
        }
      }
      // One after the other, so that they arrive in order.
      const sent = last.current.then(post).finally(() => posting.current.delete(key))
      last.current = sent.catch(() => undefined)
      accepted.current.set(key, sent)
      try {
        const receipt = await sent
        if (receipt === undefined) return true
        await clientTools.noteSent(receipt.message_id)
        accept(key, receipt)
        return true
      } catch (error) {
        setEntries((all) => all.filter(({ item }) => item.id !== key))
        toasts.failed(error)
        return false
      }
    },
    [sessionId, toasts, clientTools, chosen, user, accept],
  )

  const cancel = useCallback(
    async (id: string) => {
      try {
        if (known.current.some(({ item, isWaiting }) => item.id === id && isWaiting)) {
          const isCanceled = await cancelWaiting(user, id)
          if (isCanceled) toasts.done(t.chat.messageCanceled)
          else toasts.failed(t.offline.alreadySent)
          return
        }
        const receipt = await accepted.current.get(id)
        const session = receipt?.session_id ?? shown.current ?? ''
        await call('sessions.cancelQueued', { id: session, message: receipt?.message_id ?? id })
        setEntries((all) => all.filter((entry) => entry.item.id !== id))
        toasts.done(t.chat.messageCanceled)
      } catch (error) {
        toasts.failed(error)
      }
    },
    [toasts, user],
  )

  const retry = useCallback((id: string) => void retryWaiting(user, id).catch(toasts.failed), [toasts, user])

  // Once shown it is part of the conversation, also where the conversation later goes back to before it.
  useEffect(() => {
    const isShown = ({ messageId }: Entry) => messageId !== undefined && isOver(conversation, messageId)
    setEntries((all) => (all.some(isShown) ? all.filter((entry) => !isShown(entry)) : all))
  }, [conversation])

  const here = sessionId ?? newName.current
  const state = isWorking(conversation) ? 'queued' : 'sending'
  const outgoing = entries
    .filter(({ place, messageId }) => isAt(place, here) && !(messageId && isOver(conversation, messageId)))
    .map(({ item, isWaiting, error, files = [], progress, messageId }): Outgoing => {
      if (!isWaiting) return { item, files, state, progress: messageId === undefined ? progress : undefined }
      return error === undefined ? { item, files, state: 'waiting' } : { item, files, state: 'failed', error }
    })
  /** A new conversation now has an id: the text being typed stays with it. */
  const isBegunHere = [...begun.current.values()].includes(sessionId ?? '')
  return { outgoing, send, cancel, retry, isBegunHere }
}

/** The conversation shows it, or it was canceled, perhaps in another tab. */
function isOver({ items, canceled }: Conversation, messageId: string): boolean {
  return canceled?.includes(messageId) || items.some(({ kind, id }) => kind === 'message' && id === messageId)
}

function itemOf(id: string, text: string): MessageItem {
  return { kind: 'message', id, seq: Number.POSITIVE_INFINITY, text, sender: '', source: 'web', media: [] }
}

function namesOf(attachments: unknown): string[] {
  return Array.isArray(attachments) ? attachments.map(({ name }: { name: string }) => name) : []
}

/** The unique name of a new session. The page shows its title instead. */
function nameOfNow(): string {
  const now = new Date()
  const day = now.toISOString().slice(0, 10)
  return `${day} ${now.toTimeString().slice(0, 8).replaceAll(':', '.')}`
}
