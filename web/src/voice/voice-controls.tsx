import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { Button, classes, IconButton } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'
import { mouth, onSpeakingFailure, readAloud, type Voice } from './use-voice.ts'
import { VoiceProblemView } from './voice-problem.tsx'
import type { VoiceSession } from './voice-session.ts'
import { useVoiceSettings } from './voice-settings.ts'
import { VoiceSettingsDialog } from './voice-settings-form.tsx'
import { type VoiceState, voiceOff } from './voice-state.ts'

const icons: Record<VoiceState['kind'], IconName> = {
  off: 'microphone',
  opening: 'microphone',
  listening: 'microphone',
  writing: 'edit',
  thinking: 'brain',
  speaking: 'sound',
}

/** The state as a picture; while it listens, it grows with how loud the user is. */
function LevelMeter({ session, state }: { session: VoiceSession; state: VoiceState }) {
  const ring = useRef<HTMLSpanElement>(null)
  const isListening = state.kind === 'listening'

  useEffect(() => {
    const element = ring.current
    if (!element || !isListening) return
    // Many times a second: past React.
    const stop = session.subscribeLevel((level) => {
      element.style.transform = `scale(${1 + level * 0.5})`
    })
    return () => {
      stop()
      element.style.transform = ''
    }
  }, [session, isListening])

  return (
    <span className="relative m-1 flex size-9 shrink-0 items-center justify-center">
      <span ref={ring} aria-hidden className="absolute inset-0 rounded-full bg-accent-soft transition-transform" />
      <span className={classes('relative text-accent', !isListening && 'breathing')}>
        <Icon name={icons[state.kind]} />
      </span>
    </span>
  )
}

/** The state of the voice, with a button to stop it. Empty while it is off. */
export function VoiceBar({ voice }: { voice: Voice }) {
  const { session, state } = voice
  const { isInterruptible } = useVoiceSettings()
  const [isSetting, setIsSetting] = useState(false)
  const isOn = state.kind !== 'off'
  const problem = state.kind === 'off' ? state.problem : null
  return (
    <>
      <p role="status" className="sr-only">
        {state === voiceOff ? '' : labelOf(state)}
      </p>
      <section aria-label={t.voice.voice} className="px-3 sm:px-6" hidden={!isOn && problem === null}>
        <div className="mx-auto mb-2 max-w-3xl">
          {problem && <VoiceProblemView voice={voice} problem={problem} onSettings={() => setIsSetting(true)} />}
          <div hidden={!isOn} className="rounded-2xl border border-line bg-raised px-3 py-2 shadow-sm">
            <div className="flex items-center gap-2">
              <LevelMeter session={session} state={state} />
              <p className="min-w-0 flex-1">
                <span className="font-medium">{labelOf(state)}</span>{' '}
                <span className={classes('text-sm text-soft', state.kind === 'speaking' && 'max-sm:hidden')}>
                  {hintOf(state, isInterruptible)}
                </span>
              </p>
              {state.kind === 'speaking' && (
                <Button size="small" onClick={() => session.tell({ type: 'hushed' })}>
                  {t.voice.mute}
                </Button>
              )}
              <IconButton label={t.voice.voiceSettings} onClick={() => setIsSetting(true)}>
                <Icon name="gear" />
              </IconButton>
              <IconButton label={t.voice.stopVoiceEsc} onClick={() => session.tell({ type: 'end' })}>
                <Icon name="close" />
              </IconButton>
            </div>
            {state.kind === 'listening' && state.words !== '' && <p className="px-1 pb-1 text-soft">{state.words}</p>}
          </div>
        </div>
        <VoiceSettingsDialog isOpen={isSetting} onClose={() => setIsSetting(false)} />
      </section>
    </>
  )
}

function labelOf(state: VoiceState): string {
  switch (state.kind) {
    case 'off':
      return t.voice.voiceOff
    case 'opening':
      return t.voice.startingTheMicrophone
    case 'listening':
      return state.isHearing ? t.voice.hearingYou : t.voice.listening
    case 'writing':
      return t.voice.transcribing
    case 'thinking':
      return t.voice.thinking
    case 'speaking':
      return t.voice.speaking
  }
}

function hintOf(state: VoiceState, isInterruptible: boolean): string {
  if (state.kind === 'listening') return state.mode === 'hold' ? t.voice.releaseSendEscCancel : ''
  return state.kind === 'speaking' && state.mode === 'hands_free' && isInterruptible ? t.voice.speakToInterrupt : ''
}

/** The buttons next to the message field: hold to talk, and hands-free. */
export function VoiceButtons({ voice }: { voice: Voice }) {
  const { session, state, hold } = voice
  const isHandsFree = state.kind !== 'off' && state.mode === 'hands_free'
  const isHeld =
    state.kind !== 'off' && state.mode === 'hold' && (state.kind === 'listening' || state.kind === 'opening')

  function onPointerDown(event: PointerEvent<HTMLButtonElement>): void {
    if (event.button !== 0) return
    event.currentTarget.setPointerCapture(event.pointerId)
    hold.press()
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== ' ' && event.key !== 'Enter') return
    event.preventDefault()
    if (!event.repeat) hold.press()
  }

  function onKeyUp(event: KeyboardEvent): void {
    if (event.key !== ' ' && event.key !== 'Enter') return
    event.preventDefault()
    hold.letGo()
  }

  /** Screen readers and switches press without a pointer and without keys: that is a tap. */
  function onClick(event: MouseEvent): void {
    if (event.detail !== 0) return
    hold.press()
    hold.letGo()
  }

  return (
    <>
      <IconButton
        label={t.voice.holdTalkAltV}
        aria-pressed={isHeld}
        disabled={isHandsFree}
        className={classes('touch-none select-none', isHeld && 'bg-accent-soft text-accent')}
        onPointerDown={onPointerDown}
        onLostPointerCapture={hold.letGo}
        onContextMenu={(event) => event.preventDefault()}
        onKeyDown={onKeyDown}
        onKeyUp={onKeyUp}
        onBlur={hold.letGo}
        onClick={onClick}
      >
        <Icon name="microphone" />
      </IconButton>
      <IconButton
        label={t.voice.handsFreeVoiceAlt}
        aria-pressed={isHandsFree}
        className={classes(isHandsFree && 'bg-accent-soft text-accent')}
        onClick={() => session.tell(isHandsFree ? { type: 'end' } : { type: 'begin', mode: 'hands_free' })}
      >
        <Icon name="waves" />
      </IconButton>
    </>
  )
}

/** A shorter press is a tap: it starts recording, and the next one ends it. Not every user can hold a button. */
const tapMs = 350

export interface HoldPress {
  press(): void
  letGo(): void
  /** Ends the press. */
  reset(): void
}

export function createHoldPress(needs: { begin(): void; release(): void; now(): number }): HoldPress {
  let pressedAt: number | undefined
  let isTapped = false
  return {
    press() {
      if (pressedAt !== undefined) return
      if (isTapped) {
        isTapped = false
        return needs.release()
      }
      pressedAt = needs.now()
      needs.begin()
    },
    letGo() {
      if (pressedAt === undefined) return
      isTapped = needs.now() - pressedAt < tapMs
      pressedAt = undefined
      if (!isTapped) needs.release()
    },
    reset() {
      pressedAt = undefined
      isTapped = false
    },
  }
}

/** Says one message, or stops saying it. */
export function ReadAloud({ id, text }: { id: string; text: string }) {
  const isReading = useSyncExternalStore(mouth.subscribe, () => mouth.owner() === id)
  return (
    <button
      type="button"
      onClick={() => (isReading ? mouth.cut() : readAloud(text, id))}
      className="inline-flex min-h-7 items-center gap-1 rounded px-1.5 text-xs text-soft hover:text-ink"
    >
      <Icon name={isReading ? 'stop' : 'sound'} size={14} />
      {isReading ? t.voice.stopReading : t.voice.readAloud}
    </button>
  )
}

/** Shows why speaking failed. */
export function useSpeakingFailures(): void {
  const toasts = useToasts()
  useEffect(() => onSpeakingFailure(toasts.failed), [toasts])
}
