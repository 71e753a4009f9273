import { useCallback, useEffect, useRef, useState } from 'react'
import type { NotifyReply } from '../../../src/protocol/api.ts'
import { ask } from '../api/ask.ts'
import { useToasts } from '../components/toast.tsx'
import { useClientTools } from '../private-memory/use-client-tools.ts'
import { go, usePlace } from '../shell/router.ts'
import { useTitle } from '../shell/use-title.ts'
import { useWho } from '../shell/who.ts'
import { useVoice } from '../voice/use-voice.ts'
import { VoiceBar } from '../voice/voice-bar.tsx'
import { Composer, type Draft } from './composer.tsx'
import { isWorking, type MessageItem } from './conversation.ts'
import { MessageList } from './message-list.tsx'
import { refreshSessions, useSessions } from './sessions-store.ts'
import { TalkHeader } from './talk-header.tsx'
import { useConversation } from './use-conversation.ts'
import { useReadMark } from './use-read-mark.ts'
import { Welcome } from './welcome.tsx'

/** `/talk/<id>` is a session; anything else a new one, which begins with its first message. */
export function TalkScreen() {
  const { path } = usePlace()
  const { agent_name } = useWho()
  const toasts = useToasts()
  const sessionId = /^\/talk\/([\w-]+)$/.exec(path)?.[1] ?? null
  const session = useSessions().find((known) => known.id === sessionId)
  const isByVoice = useRef(false)
  const talk = useConversation(
    sessionId,
    useCallback(() => isByVoice.current, []),
  )
  const [waiting, setWaiting] = useState<MessageItem[]>([])
  useTitle(session?.title ?? session?.contact ?? agent_name)
  useReadMark(sessionId, talk.conversation)
  const clientTools = useClientTools(sessionId, talk.conversation)

  const send = useCallback(
    async ({ text, attachments }: Draft): Promise<boolean> => {
      const key = crypto.randomUUID()
      const shown: MessageItem = { kind: 'message', id: key, text, sender: '', source: 'web', media: [] }
      setWaiting((all) => [...all, shown])
      try {
        const place = sessionId === null ? { session: newName(), channel: 'web' } : { session: sessionId }
        const receipt = await ask<NotifyReply>('/messages', {
          body: { ...place, message: text, source: 'web', key, attachments, ...(await clientTools.forMessage()) },
        })
        await clientTools.noteSent(receipt.message_id)
        if (sessionId === null) go(`/talk/${receipt.session_id}`)
        refreshSessions()
        return true
      } catch (error) {
        toasts.failed(error)
        return false
      } finally {
        setWaiting((all) => all.filter(({ id }) => id !== key))
      }
    },
    [sessionId, toasts, clientTools],
  )

  // The same one at every drawing, so that what did not change is not drawn again.
  const sendText = useCallback((text: string) => send({ text, attachments: [] }), [send])

  const voice = useVoice({ sessionId, conversation: talk.conversation, onSend: sendText })
  useEffect(() => {
    isByVoice.current = voice.state.kind !== 'off'
  }, [voice.state.kind])

  const stop = useCallback(async () => {
    if (sessionId !== null) await ask(`/sessions/${sessionId}/stop`, { body: {} }).catch(toasts.failed)
  }, [sessionId, toasts])

  const isEmpty = talk.conversation.items.length === 0 && waiting.length === 0 && talk.state !== 'loading'
  return (
    <main id="main" tabIndex={-1} className="flex h-full flex-col outline-none">
      {session && <TalkHeader session={session} isCutOff={talk.state === 'cut_off'} />}
      {isEmpty ? <Welcome /> : <MessageList talk={talk} waiting={waiting} sessionId={sessionId} />}
      <VoiceBar voice={voice} />
      <Composer
        key={sessionId ?? 'new'}
        draftKey={sessionId ?? 'new'}
        sessionId={sessionId}
        isWorking={isWorking(talk.conversation)}
        voice={voice}
        onSend={send}
        onStop={() => void stop()}
      />
    </main>
  )
}

/** Names of contacts are the user's to choose later; until then the day and hour tell sessions apart. */
function newName(): string {
  const now = new Date()
  const day = now.toISOString().slice(0, 10)
  return `${day} ${now.toTimeString().slice(0, 8).replaceAll(':', '.')}`
}
