import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useToasts } from '../components/toast.tsx'
import { useWho } from '../shell/who.ts'
import type { Conversation } from '../talk/conversation.ts'
import { answerCall } from './answer-call.ts'
import type { CallOutcome } from './carry-out.ts'
import { openPrivateStore } from './private-store.ts'
import { noteSentHere, toolsForMessage } from './sent-message.ts'
import { type WaitingCall, waitingCalls } from './waiting-calls.ts'

/** What a message says of this browser's memory, and the calls that come back. Nothing at all while it is switched off. */
export function useClientTools(sessionId: string | null, conversation: Conversation) {
  const { name: userName } = useWho()
  const toasts = useToasts()
  const [sent, setSent] = useState(0)
  const begun = useRef(new Map<string, AbortController>())
  const waiting = useMemo(() => waitingCalls(conversation), [conversation])
  const ids = waiting.map(({ callId }) => callId).join(' ')

  // What another session waits for is still told when this one is looked at.
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
      const answered = await answerCall(call, { sessionId: session, userName, signal: controller.signal })
      if (answered.kind === 'made') tellUser(answered.outcome)
      // It may be ours after all: the word that the message went out from here can come later than the call.
      if (answered.kind === 'not_ours') begun.current.delete(call.callId)
    } catch (error) {
      toasts.failed(error)
    }
  }

  function tellUser({ saved, removed }: CallOutcome): void {
    const [entry] = [...saved, ...removed]
    if (!entry) return
    const text =
      saved.length > 0 ? `Saved in this browser: ${entry.title}` : `Deleted from this browser: ${entry.title}`
    toasts.done(text, {
      label: 'Undo',
      async run() {
        const store = await openPrivateStore(userName)
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
        // The message is out, whatever the browser's store says.
        toasts.failed(error)
      }
    },
    [userName, toasts],
  )

  return useMemo(() => ({ forMessage, noteSent }), [forMessage, noteSent])
}
