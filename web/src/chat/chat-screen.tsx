import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import type { PageSession } from '../../../src/protocol/page.ts'
import { call } from '../api/call.ts'
import { Button, IconButton, Menu } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Dialog, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { useClientTools } from '../memory/private/client-tools.ts'
import { useWho } from '../shell/account.tsx'
import { go, usePlace, useTitle } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { useVoice } from '../voice/use-voice.ts'
import { VoiceBar } from '../voice/voice-controls.tsx'
import { SendChoiceContext } from './choices.tsx'
import { Composer, newDraft } from './composer.tsx'
import { ComposerOptions, usualConversation } from './composer-options.tsx'
import { type Conversation, isWorking } from './conversation.ts'
import { type ExportFormat, exportConversation } from './export-conversation.ts'
import { ChatActionsProvider } from './message-actions.tsx'
import { MessageList } from './message-list.tsx'
import { refreshSessions, useSessions } from './sessions.tsx'
import { useConversation } from './use-conversation.ts'
import { useOutgoing } from './use-outgoing.ts'
import { NoModelBanner, Welcome } from './welcome.tsx'

// Loaded with the first call.
const CallView = lazy(async () => ({ default: (await import('../voice/call-view.tsx')).CallView }))

function ChatHeader({ session, isCutOff }: { session: PageSession; isCutOff: boolean }) {
  const toasts = useToasts()
  const [title, setTitle] = useState<string>()

  async function rename(): Promise<void> {
    await call('page.rename', { id: session.id, title: title ?? '' }).catch(toasts.failed)
    setTitle(undefined)
    refreshSessions()
  }

  async function pin(): Promise<void> {
    await call('page.pin', { id: session.id, pinned: !session.is_pinned }).catch(toasts.failed)
    refreshSessions()
  }

  async function exportAs(format: ExportFormat): Promise<void> {
    const { id, title: shown, contact } = session
    await exportConversation({ id, title: shown ?? contact }, format).catch(toasts.failed)
  }

  async function archive(): Promise<void> {
    try {
      await call('sessions.reset', { target: session.id })
      toasts.done(t.chat.archived)
      refreshSessions()
      go('/')
    } catch (error) {
      toasts.failed(error)
    }
  }

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
      <Menu
        trigger={
          <IconButton label={t.chat.more}>
            <Icon name="more" />
          </IconButton>
        }
        items={[
          { label: t.chat.rename, icon: 'edit', onSelect: () => setTitle(session.title ?? session.contact) },
          {
            label: session.is_pinned ? t.chat.unpin : t.chat.pin,
            icon: 'pin',
            onSelect: () => void pin(),
          },
          { label: t.chat.exportMarkdown, icon: 'arrow_down', onSelect: () => void exportAs('md') },
          { label: t.chat.exportJson, icon: 'arrow_down', onSelect: () => void exportAs('json') },
          {
            label: t.chat.archive,
            icon: 'archive',
            onSelect: () => void archive(),
            isDisabled: session.state === 'archived',
          },
        ]}
      />
      <Dialog isOpen={title !== undefined} onClose={() => setTitle(undefined)} title={t.chat.rename}>
        <form
          className="space-y-3"
          onSubmit={(event) => {
            event.preventDefault()
            void rename()
          }}
        >
          <TextField
            label={t.common.title}
            autoFocus
            value={title ?? ''}
            maxLength={200}
            onChange={(event) => setTitle(event.target.value)}
          />
          <Button type="submit" kind="main">
            {t.common.save}
          </Button>
        </form>
      </Dialog>
    </header>
  )
}

/** A conversation in a visible tab is marked as read. */
function useReadMark(sessionId: string | null, { cursor }: Conversation): void {
  const seq = Number(cursor.split('.')[0])
  useEffect(() => {
    if (sessionId === null || seq === 0 || document.visibilityState !== 'visible') return
    const timer = setTimeout(() => void mark(sessionId, seq), 800)
    return () => clearTimeout(timer)
  }, [sessionId, seq])
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
  const clientTools = useClientTools(sessionId, opened.conversation)

  const [chosen, setChosen] = useState(usualConversation)
  const { outgoing, send, cancel, isBegunHere } = useOutgoing({
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
            <MessageList opened={opened} outgoing={outgoing} sessionId={sessionId} onCancel={cancel} />
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
