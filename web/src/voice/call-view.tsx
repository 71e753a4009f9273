import { Dialog } from 'radix-ui'
import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { ChoiceList } from '../chat/choices.tsx'
import type { Conversation, Item, ToolPart, TurnItem } from '../chat/conversation.ts'
import { ToolView } from '../chat/turn-view.tsx'
import { classes, IconButton } from '../components/controls.tsx'
import { RawOnError } from '../components/feedback.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'
import { speakable, takeSentences } from './sentences.ts'
import { mouth, type Voice } from './use-voice.ts'
import { iconOf, labelOf, useLevel } from './voice-controls.tsx'
import { VoiceSettingsDialog } from './voice-settings-form.tsx'
import type { VoiceState } from './voice-state.ts'

/** A call fills the screen: its state, what both sides say, and what Familiar does meanwhile. Escape ends it. */
export function CallView(props: { voice: Voice; conversation: Conversation; sessionId: string | null; title: string }) {
  const { voice, conversation, sessionId, title } = props
  const { session, state, isMuted, showCall } = voice
  const [hasCaptions, setHasCaptions] = useState(true)
  const [isSetting, setIsSetting] = useState(false)
  const orb = useRef<HTMLButtonElement>(null)
  const turn = newestTurn(conversation)
  const tools = turn?.parts.filter((part) => part.kind === 'tool') ?? []
  const isPaused = state.kind === 'paused'

  return (
    <Dialog.Root open onOpenChange={(open) => !open && session.tell({ type: 'end' })}>
      <Dialog.Portal>
        <Dialog.Content
          aria-describedby={undefined}
          onOpenAutoFocus={(event) => {
            event.preventDefault()
            orb.current?.focus()
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault()
            document.getElementById('main')?.focus()
          }}
          onPointerDownOutside={(event) => event.preventDefault()}
          className="fixed inset-0 z-40 flex flex-col bg-ground pt-[env(safe-area-inset-top)] pb-[env(safe-area-inset-bottom)] outline-none"
        >
          <header className="flex items-center gap-1 px-3 py-2 sm:px-5">
            <Dialog.Title className="min-w-0 flex-1 truncate font-medium">
              <span className="sr-only">{t.voice.call}: </span>
              {title}
            </Dialog.Title>
            <IconButton
              label={t.voice.captions}
              aria-pressed={hasCaptions}
              className={classes(hasCaptions && 'bg-accent-soft text-accent')}
              onClick={() => setHasCaptions(!hasCaptions)}
            >
              <Icon name="captions" />
            </IconButton>
            <IconButton label={t.voice.voiceSettings} onClick={() => setIsSetting(true)}>
              <Icon name="gear" />
            </IconButton>
            <IconButton label={t.voice.hideCall} onClick={() => showCall(false)}>
              <Icon name="chevron_down" />
            </IconButton>
          </header>

          <section aria-label={t.voice.voice} className="flex min-h-0 flex-1 flex-col">
            <div className="flex min-h-0 flex-1 flex-col items-center gap-4 overflow-y-auto px-4">
              <div className={classes('flex flex-col items-center gap-3', tools.length === 0 ? 'my-auto' : 'pt-2')}>
                <Orb voice={voice} buttonRef={orb} isSmall={tools.length > 0} />
                <p role="status" className="text-lg font-medium">
                  {labelOf(state, isMuted)}
                </p>
              </div>
              <Happening turn={turn} tools={tools} sessionId={sessionId} />
            </div>
            {hasCaptions && <Captions conversation={conversation} state={state} />}
          </section>

          <footer className="flex justify-center gap-8 px-4 pt-3 pb-5">
            <CallButton
              icon={isMuted ? 'microphone_off' : 'microphone'}
              label={isMuted ? t.voice.unmuteMicrophone : t.voice.muteMicrophone}
              isPressed={isMuted}
              onClick={() => session.setMuted(!isMuted)}
            />
            <CallButton
              icon={isPaused ? 'play' : 'pause'}
              label={isPaused ? t.voice.resume : t.voice.pause}
              isPressed={isPaused}
              onClick={() => session.tell({ type: isPaused ? 'resume' : 'pause' })}
            />
            <CallButton icon="phone_end" label={t.voice.endCall} isEnd onClick={() => session.tell({ type: 'end' })} />
          </footer>
          <VoiceSettingsDialog isOpen={isSetting} onClose={() => setIsSetting(false)} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function newestTurn({ items }: Conversation): TurnItem | undefined {
  const newest = items.findLast((item) => item.kind !== 'note')
  // After a new message the calls of the turn before it are over.
  return newest?.kind === 'turn' ? newest : undefined
}

/** The one big button: it shows the state, interrupts a reply, and pauses and continues the call. */
function Orb(props: { voice: Voice; buttonRef: React.Ref<HTMLButtonElement>; isSmall: boolean }) {
  const { voice, buttonRef, isSmall } = props
  const { session, state, isMuted } = voice
  const ring = useRef<HTMLSpanElement>(null)
  const isListening = state.kind === 'listening' && !isMuted
  useLevel(session, isListening, (level) => {
    if (ring.current) ring.current.style.transform = `scale(${1 + level * 0.45})`
  })
  const isActive = state.kind === 'speaking' || state.kind === 'thinking' || state.kind === 'writing'

  function press(): void {
    if (state.kind === 'speaking') session.tell({ type: 'hushed' })
    else session.tell({ type: state.kind === 'paused' ? 'resume' : 'pause' })
  }

  return (
    <button
      ref={buttonRef}
      type="button"
      aria-label={`${labelOf(state, isMuted)}. ${orbAction(state)}`}
      title={orbAction(state)}
      onClick={press}
      className={classes(
        'relative m-4 shrink-0 rounded-full transition-all',
        isSmall ? 'size-20' : 'size-36 sm:size-44',
      )}
    >
      <span
        ref={ring}
        aria-hidden="true"
        className={classes(
          'absolute inset-0 rounded-full transition-transform',
          state.kind === 'paused' || isMuted ? 'bg-sunken' : 'bg-accent-soft',
          isActive && 'breathing',
        )}
      />
      <span
        className={classes(
          'absolute inset-[14%] flex items-center justify-center rounded-full',
          state.kind === 'speaking' && 'bg-accent text-accent-ink',
          state.kind !== 'speaking' && (state.kind === 'paused' || isMuted ? 'text-soft' : 'text-accent'),
        )}
      >
        <Icon name={iconOf(state, isMuted)} size={isSmall ? 28 : 48} />
      </span>
    </button>
  )
}

function orbAction(state: VoiceState): string {
  if (state.kind === 'speaking') return t.voice.interrupt
  return state.kind === 'paused' ? t.voice.resume : t.voice.pause
}

/** The calls of the newest turn with their results, cards and approvals, and the options of its question. */
function Happening(props: { turn: TurnItem | undefined; tools: readonly ToolPart[]; sessionId: string | null }) {
  const { turn, tools, sessionId } = props
  const end = useRef<HTMLDivElement>(null)
  const isAsked = tools.some(({ approval }) => approval && approval.outcome === undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest one is in sight.
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' })
  }, [tools.length, isAsked])
  if (!turn || (tools.length === 0 && !turn.choices)) return null
  return (
    <section aria-label={t.voice.happening} className="w-full max-w-2xl space-y-2 pb-2">
      {tools.map((tool) => (
        <Overlay key={tool.callId}>
          <RawOnError raw={tool.card?.text ?? tool.name}>
            <ToolView tool={tool} sessionId={sessionId} startsOpen />
          </RawOnError>
        </Overlay>
      ))}
      {isAsked && <p className="text-center text-sm text-soft">{t.voice.sayYesOrNo}</p>}
      {turn.choices && turn.deliver && (
        <Overlay>
          <ChoiceList choices={turn.choices} />
          {turn.choices.chosen === undefined && <p className="mt-2 text-sm text-soft">{t.voice.sayAnswer}</p>}
        </Overlay>
      )}
      <div ref={end} />
    </section>
  )
}

function Overlay({ children }: { children: ReactNode }) {
  return <div className="rounded-2xl bg-raised p-1.5 shadow-md">{children}</div>
}

/** The last words of both sides: those of the user as they are understood, and the sentence that Familiar speaks. */
function Captions({ conversation, state }: { conversation: Conversation; state: VoiceState }) {
  const spoken = useSyncExternalStore(mouth.subscribe, mouth.sentence)
  const words = state.kind === 'listening' || state.kind === 'writing' ? state.words : ''
  const { asked, reply } = lastWords(conversation.items)
  const now = useRef<HTMLSpanElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sentence that is spoken is in sight.
  useEffect(() => {
    now.current?.scrollIntoView({ block: 'nearest' })
  }, [spoken, reply.length])
  const isNow = (sentence: string) => spoken !== '' && sentence.includes(spoken)
  const said = words || asked
  return (
    <div
      role="log"
      aria-label={t.voice.captions}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
      tabIndex={0}
      className="mx-auto max-h-[30vh] w-full max-w-2xl shrink-0 space-y-2 overflow-y-auto px-4 py-3"
    >
      {said !== '' && (
        <p className="text-soft [overflow-wrap:anywhere]">
          <span className="font-medium">{t.voice.you}: </span>
          <span>{said}</span>
        </p>
      )}
      {words === '' && reply.length > 0 && (
        <p className="text-lg [overflow-wrap:anywhere]">
          {reply.map((sentence, index) => (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: sentences only follow at the end.
              key={index}
              ref={isNow(sentence) ? now : undefined}
              className={classes(spoken !== '' && !isNow(sentence) && 'text-soft')}
            >
              {sentence}{' '}
            </span>
          ))}
        </p>
      )}
    </div>
  )
}

function lastWords(items: readonly Item[]): { asked: string; reply: string[] } {
  const at = items.findLastIndex((item) => item.kind === 'message')
  const message = items[at]
  const texts = items.slice(at + 1).flatMap((item) => {
    if (item.kind !== 'turn' || !item.deliver) return []
    return item.parts.flatMap((part) => (part.kind === 'text' || part.kind === 'said' ? [part.text] : []))
  })
  return {
    asked: message?.kind === 'message' ? speakable(message.text) : '',
    reply: texts.flatMap((text) => takeSentences(text).sentences),
  }
}

function CallButton(props: { icon: IconName; label: string; isPressed?: boolean; isEnd?: boolean; onClick(): void }) {
  const { icon, label, isPressed, isEnd = false, onClick } = props
  return (
    <button
      type="button"
      aria-pressed={isPressed}
      onClick={onClick}
      className="flex min-w-16 flex-col items-center gap-1 text-sm text-soft hover:text-ink"
    >
      <span
        className={classes(
          'flex size-14 items-center justify-center rounded-full border transition-colors',
          isEnd
            ? 'border-bad bg-bad-soft text-bad'
            : isPressed
              ? 'border-accent bg-accent-soft text-accent'
              : 'border-line bg-raised text-ink',
        )}
      >
        <Icon name={icon} size={24} />
      </span>
      {label}
    </button>
  )
}
