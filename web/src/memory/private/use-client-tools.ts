import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Conversation } from '../../chat/conversation.ts'
import { useToasts } from '../../components/feedback.tsx'
import { loadLater } from '../../components/later.tsx'
import { useWho } from '../../shell/account.tsx'
import { t } from '../../strings/strings.ts'
import type { AskedCall, CallOutcome } from './client-tools.ts'
import { isSwitchedOn, useIsSwitchedOn } from './private-switch.tsx'

export const toolNames = { save: 'save_memory', remove: 'delete_memory', read: 'read_browser_memory' } as const

// Few users switch it on: the tools and the store are no part of the first load.
const loadTools = loadLater(() => import('./client-tools.ts'))
const loadStore = loadLater(() => import('./private-store.ts'))
const openStore = async (userName: string) => (await loadStore()).openPrivateStore(userName)

export interface WaitingCall extends AskedCall {
  callId: string
  /** The messages of its turn: the browser that sent one of them runs the calls. */
  messageIds: string[]
}

const names: ReadonlySet<string> = new Set(Object.values(toolNames))

/** The calls that the running turn waits for, and that are this page's to make. */
export function waitingCalls({ items }: Conversation): WaitingCall[] {
  const place = items.findLastIndex((item) => item.kind === 'turn')
  const turn = items[place]
  if (turn?.kind !== 'turn' || turn.outcome !== undefined) return []
  const calls = turn.parts.flatMap((part) =>
    part.kind === 'tool' && part.isClients && part.result === undefined && names.has(part.name) ? [part] : [],
  )
  if (calls.length === 0) return []
  const before = items.slice(0, place)
  const since = before.slice(before.findLastIndex((item) => item.kind === 'turn') + 1)
  const messageIds = since.flatMap((item) => (item.kind === 'message' ? [item.id] : []))
  return calls.map(({ callId, name, input }) => ({ callId, name, input, messageIds }))
}

/** The fields of a message that offer this browser's memory. None while it is off. */
export async function toolsForMessage(userName: string) {
  if (!isSwitchedOn(userName)) return {}
  const { clientTools } = await loadTools()
  return { client_tools: await clientTools(userName) }
}

/** Notes that this browser runs the calls in the turn of the message. */
export async function noteSentHere(userName: string, messageId: string): Promise<void> {
  if (isSwitchedOn(userName)) await (await openStore(userName)).noteSent(messageId)
}

/** Offers this browser's memory with each message, and runs the calls that come back. Does nothing while it is off. */
export function useClientTools(sessionId: string | null, conversation: Conversation) {
  const { name: userName } = useWho()
  const toasts = useToasts()
  const [sent, setSent] = useState(0)
  const begun = useRef(new Map<string, AbortController>())
  const waiting = useMemo(() => waitingCalls(conversation), [conversation])
  const ids = waiting.map(({ callId }) => callId).join(' ')

  // The first message does not wait for them.
  const isOn = useIsSwitchedOn(userName)
  useEffect(() => {
    if (isOn) Promise.all([loadTools(), loadStore()]).catch(() => undefined)
  }, [isOn])

  // Answers for another session are still delivered.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each session has its own.
  useEffect(() => {
    begun.current = new Map()
  }, [sessionId])

  // biome-ignore lint/correctness/useExhaustiveDependencies: only another set of calls is news, or that a message was ours.
  useEffect(() => {
    if (sessionId === null) return
    for (const [callId, controller] of begun.current) {
      if (waiting.some((call) => call.callId === callId)) continue
      controller.abort()
      begun.current.delete(callId)
    }
    for (const call of waiting) if (!begun.current.has(call.callId)) void begin(call, sessionId)
  }, [sessionId, ids, sent])

  async function begin(call: WaitingCall, session: string): Promise<void> {
    const controller = new AbortController()
    begun.current.set(call.callId, controller)
    try {
      const { answerCall } = await loadTools()
      const answered = await answerCall(call, { sessionId: session, userName, signal: controller.signal })
      if (answered.kind === 'made') tellUser(answered.outcome)
      // It may be ours: the note that this browser sent the message can be stored after the call arrives.
      if (answered.kind === 'not_ours') begun.current.delete(call.callId)
    } catch (error) {
      toasts.failed(error)
    }
  }

  function tellUser({ saved, removed }: CallOutcome): void {
    const [entry] = [...saved, ...removed]
    if (!entry) return
    const text =
      saved.length > 0 ? t.privateNotes.savedBrowser(entry.title) : t.privateNotes.deletedFromBrowser(entry.title)
    toasts.done(text, {
      label: t.common.undo,
      async run() {
        const store = await openStore(userName)
        for (const { id } of saved) await store.remove(id)
        await store.put(removed)
      },
    })
  }

  const forMessage = useCallback(() => toolsForMessage(userName), [userName])

  const noteSent = useCallback(
    async (messageId: string) => {
      try {
        await noteSentHere(userName, messageId)
        setSent((count) => count + 1)
      } catch (error) {
        // The message was sent even if the browser's storage fails.
        toasts.failed(error)
      }
    },
    [userName, toasts],
  )

  return useMemo(() => ({ forMessage, noteSent }), [forMessage, noteSent])
}
