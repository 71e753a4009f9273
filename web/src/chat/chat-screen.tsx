import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import type { PageSession } from '../../../src/protocol/page.ts'
import { call } from '../api/call.ts'
import { useToasts } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { useClientTools } from '../memory/private/use-client-tools.ts'
import { useIsVisible } from '../notices/notices.ts'
import { useSharedConversation } from '../preview/preview.tsx'
import { useWho } from '../shell/account.tsx'
import { usePlace, useTitle } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { useVoice } from '../voice/use-voice.ts'
import { VoiceBar } from '../voice/voice-controls.tsx'
import { SendChoiceContext } from './choices.tsx'
import { Composer } from './composer.tsx'
import { ComposerOptions, usualConversation } from './composer-options.tsx'
import { type Conversation, isWorking } from './conversation.ts'
import { newDraft } from './drafts.ts'
import { ChatActionsProvider } from './message-actions.tsx'
import { MessageList } from './message-list.tsx'
import { SessionMenu } from './organize.tsx'
import { useSessions } from './sessions.ts'
import { useConversation } from './use-conversation.ts'
import { useOutgoing } from './use-outgoing.ts'
import { NoModelBanner, Welcome } from './welcome.tsx'

// Loaded with the first call.
const CallView = lazy(async () => ({ default: (await import('../voice/call-view.tsx')).CallView }))

function ChatHeader({ session, isCutOff }: { session: PageSession; isCutOff: boolean }) {
  return (
    <header className="flex items-center gap-2 border-b border-line px-4 py-1.5">
      <h1 dir="auto" className="min-w-0 flex-1 truncate font-medium">
        {session.title ?? session.contact}
      </h1>
      {session.is_private && (
        <span
          title={t.composer.privateHint}
          className="inline-flex items-center gap-1 rounded-full bg-sunken px-2 py-0.5 text-xs text-soft"
        >
          <Icon name="eye_off" size={12} /> {t.composer.privateChat}
        </span>
      )}
      {session.channel !== 'web' && (
        <span className="rounded-full bg-sunken px-2 py-0.5 text-xs text-soft">{session.channel}</span>
      )}
      <span role="status" className="text-sm text-warn">
        {isCutOff && t.chat.connectionLostReconnecting}
      </span>
      <SessionMenu session={session} label={t.chat.more} />
    </header>
  )
}

/** A conversation in a visible tab is marked as read. */
function useReadMark(sessionId: string | null, { cursor }: Conversation): void {
  const seq = Number(cursor.split('.')[0])
  const isVisible = useIsVisible()
  useEffect(() => {
    if (sessionId === null || seq === 0 || !isVisible) return
    const timer = setTimeout(() => void mark(sessionId, seq), 800)
    return () => clearTimeout(timer)
  }, [sessionId, seq, isVisible])

  // The user has read the part that was in view when they left.
  const shown = useRef({ seq, isVisible })
  shown.current = { seq, isVisible }
  useEffect(
    () => () => {
      if (sessionId !== null && shown.current.isVisible && shown.current.seq > 0)
        void mark(sessionId, shown.current.seq)
    },
    [sessionId],
  )
}

async function mark(sessionId: string, seq: number): Promise<void> {
  await call('page.markRead', { id: sessionId, seq }).catch(() => undefined)
}

/** `/talk/<id>` is a session; any other path a new one, which starts with its first message. */
export function ChatScreen() {
  const { path } = usePlace()
  const { agent_name } = useWho()
  const toasts = useToasts()
  const sessionId = /^\/talk\/([\w-]+)$/.exec(path)?.[1] ?? null
  const session = useSessions().find((known) => known.id === sessionId)
  const isByVoice = useRef(false)
  const opened = useConversation(
    sessionId,
    useCallback(() => isByVoice.current, []),
  )
  useTitle(session?.title ?? session?.contact ?? agent_name)
  useReadMark(sessionId, opened.conversation)
  useSharedConversation(opened.conversation.items)
  const clientTools = useClientTools(sessionId, opened.conversation)

  const [chosen, setChosen] = useState(usualConversation)
  const { outgoing, send, cancel, retry, isBegunHere } = useOutgoing({
    sessionId,
    chosen,
    conversation: opened.conversation,
    clientTools,
  })

  useEffect(() => {
    if (sessionId !== null) setChosen(usualConversation)
  }, [sessionId])

  // The same one at every drawing, so that what did not change is not drawn again.
  const sendText = useCallback((text: string) => send({ text, attachments: [] }), [send])
  const sendChoice = useCallback((text: string, answers: string) => send({ text, attachments: [], answers }), [send])

  const voice = useVoice({ sessionId, conversation: opened.conversation, onSend: sendText })
  useEffect(() => {
    isByVoice.current = voice.state.kind !== 'off'
  }, [voice.state.kind])

  const stop = useCallback(async () => {
    if (sessionId !== null) await call('sessions.stop', { id: sessionId }).catch(toasts.failed)
  }, [sessionId, toasts])

  const isEmpty = opened.conversation.items.length === 0 && outgoing.length === 0 && opened.state !== 'loading'
  return (
    <main id="main" tabIndex={-1} className="flex h-full flex-col outline-none">
      {session && <ChatHeader session={session} isCutOff={opened.state === 'cut_off'} />}
      {!isEmpty && <NoModelBanner />}
      {isEmpty ? (
        <Welcome onAsk={sendText} />
      ) : (
        <ChatActionsProvider
          sessionId={sessionId}
          conversation={opened.conversation}
          isArchived={session?.state === 'archived'}
          onSend={sendText}
        >
          <SendChoiceContext value={sendChoice}>
            <MessageList opened={opened} outgoing={outgoing} sessionId={sessionId} onCancel={cancel} onRetry={retry} />
          </SendChoiceContext>
        </ChatActionsProvider>
      )}
      <VoiceBar voice={voice} />
      {voice.isCall && (
        <SendChoiceContext value={sendChoice}>
          <Suspense>
            <CallView
              voice={voice}
              conversation={opened.conversation}
              sessionId={sessionId}
              title={session?.title ?? session?.contact ?? agent_name}
            />
          </Suspense>
        </SendChoiceContext>
      )}
      <Composer
        options={
          <ComposerOptions
            sessionId={sessionId}
            session={session}
            conversation={opened.conversation}
            chosen={chosen}
            onChoose={setChosen}
          />
        }
        draftKey={sessionId ?? newDraft}
        isBegunHere={isBegunHere}
        sessionId={sessionId}
        isWorking={isWorking(opened.conversation)}
        voice={voice}
        onSend={send}
        onStop={() => void stop()}
      />
    </main>
  )
}
