import { type MouseEvent, type PointerEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { Button, classes, IconButton } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'
import { mouth, onSpeakingReports, readAloud, type Voice } from './use-voice.ts'
import { VoiceProblemView } from './voice-problem.tsx'
import type { VoiceSession } from './voice-session.ts'
import { useVoiceSettings } from './voice-settings.ts'
import { VoiceSettingsDialog } from './voice-settings-form.tsx'
import { type VoiceState, voiceOff } from './voice-state.ts'

const icons: Record<VoiceState['kind'], IconName> = {
  off: 'waves',
  opening: 'microphone',
  listening: 'microphone',
  writing: 'edit',
  thinking: 'brain',
  speaking: 'sound',
  paused: 'pause',
}

/** The picture of the state. */
export function iconOf(state: VoiceState, isMuted: boolean): IconName {
  return isMuted && state.kind === 'listening' ? 'microphone_off' : icons[state.kind]
}

/** Calls `onLevel` with how loud the user is while it listens, and with 0 after it. */
export function useLevel(session: VoiceSession, isListening: boolean, onLevel: (level: number) => void): void {
  const latest = useRef(onLevel)
  useEffect(() => {
    latest.current = onLevel
  }, [onLevel])
  useEffect(() => {
    if (!isListening) return
    // Many times a second: past React.
    const stop = session.subscribeLevel((level) => latest.current(level))
    return () => {
      stop()
      latest.current(0)
    }
  }, [session, isListening])
}

/** The state as a picture; while it listens, it grows with how loud the user is. */
function LevelMeter({ voice: { session, state, isMuted } }: { voice: Voice }) {
  const ring = useRef<HTMLSpanElement>(null)
  const isListening = state.kind === 'listening'
  useLevel(session, isListening, (level) => {
    if (ring.current) ring.current.style.transform = `scale(${1 + level * 0.5})`
  })
  return (
    <span className="relative m-1 flex size-9 shrink-0 items-center justify-center">
      <span ref={ring} aria-hidden className="absolute inset-0 rounded-full bg-accent-soft transition-transform" />
      <span className={classes('relative text-accent', !isListening && state.kind !== 'paused' && 'breathing')}>
        <Icon name={iconOf(state, isMuted)} />
      </span>
    </span>
  )
}

/** The state of the voice, with a button to stop it. Empty while it is off. */
export function VoiceBar({ voice }: { voice: Voice }) {
  const { session, state, isMuted, isCall, showCall } = voice
  const { isInterruptible } = useVoiceSettings()
  const [isSetting, setIsSetting] = useState(false)
  const isOn = state.kind !== 'off' && !isCall
  const problem = state.kind === 'off' ? state.problem : null
  return (
    <>
      <p role="status" className="sr-only">
        {state === voiceOff || isCall ? '' : labelOf(state, isMuted)}
      </p>
      <section aria-label={t.voice.voice} className="px-3 sm:px-6" hidden={!isOn && problem === null}>
        <div className="mx-auto mb-2 max-w-3xl">
          {problem && <VoiceProblemView voice={voice} problem={problem} onSettings={() => setIsSetting(true)} />}
          <div hidden={!isOn} className="rounded-2xl border border-line bg-raised px-3 py-2 shadow-sm">
            <div className="flex items-center gap-2">
              <LevelMeter voice={voice} />
              <p className="min-w-0 flex-1">
                <span className="font-medium">{labelOf(state, isMuted)}</span>{' '}
                <span className={classes('text-sm text-soft', state.kind === 'speaking' && 'max-sm:hidden')}>
                  {hintOf(state, isInterruptible)}
                </span>
              </p>
              {state.kind === 'paused' && (
                <Button size="small" onClick={() => session.tell({ type: 'resume' })}>
                  {t.voice.resume}
                </Button>
              )}
              {state.kind === 'speaking' && (
                <Button size="small" onClick={() => session.tell({ type: 'hushed' })}>
                  {t.voice.mute}
                </Button>
              )}
              {isOn && state.mode === 'hands_free' && (
                <IconButton label={t.voice.showCall} onClick={() => showCall(true)}>
                  <Icon name="expand" />
                </IconButton>
              )}
              <IconButton label={t.voice.voiceSettings} onClick={() => setIsSetting(true)}>
                <Icon name="gear" />
              </IconButton>
              <IconButton label={t.voice.stopVoiceEsc} onClick={() => session.tell({ type: 'end' })}>
                <Icon name="close" />
              </IconButton>
            </div>
            {isOn && state.kind === 'listening' && state.words !== '' && (
              <p className="px-1 pb-1 text-soft">{state.words}</p>
            )}
          </div>
        </div>
        <VoiceSettingsDialog isOpen={isSetting} onClose={() => setIsSetting(false)} />
      </section>
    </>
  )
}

export function labelOf(state: VoiceState, isMuted: boolean): string {
  switch (state.kind) {
    case 'paused':
      return t.voice.paused
    case 'off':
      return t.voice.voiceOff
    case 'opening':
      return t.voice.startingTheMicrophone
    case 'listening':
      return isMuted ? t.voice.microphoneOff : state.isHearing ? t.voice.hearingYou : t.voice.listening
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

/** The button next to the message field: a short press starts a call or ends it, a longer one talks as long as it is held. */
export function VoiceButton({ voice }: { voice: Voice }) {
  const { session, state, isMuted } = voice
  const isCalling = state.kind !== 'off' && state.mode === 'hands_free'
  const press = usePress(voice)

  function onPointerDown(event: PointerEvent<HTMLButtonElement>): void {
    if (event.button !== 0) return
    event.currentTarget.setPointerCapture(event.pointerId)
    press.begin(event)
  }

  /** Keys, screen readers and switches press without a pointer: that is a short press. Alt+V is held instead. */
  function onClick(event: MouseEvent): void {
    if (event.detail !== 0) return
    session.tell(isCalling ? { type: 'end' } : { type: 'begin', mode: 'hands_free' })
  }

  return (
    <IconButton
      label={state.kind === 'off' ? t.voice.startCall : labelOf(state, isMuted)}
      title={state.kind === 'off' ? t.voice.startCall : t.voice.stopVoiceEsc}
      aria-pressed={state.kind !== 'off'}
      className={classes('touch-none select-none', state.kind !== 'off' && 'bg-accent-soft text-accent')}
      onPointerDown={onPointerDown}
      onLostPointerCapture={press.end}
      onContextMenu={(event) => event.preventDefault()}
      // A key that is held repeats its press.
      onKeyDown={(event) => event.repeat && event.preventDefault()}
      onBlur={press.end}
      onClick={onClick}
    >
      <Icon name={iconOf(state, isMuted)} />
    </IconButton>
  )
}

/** When the user did it, however busy the page is. */
interface TimedEvent {
  timeStamp: number
}

/** A long press talks as long as it lasts. It listens from its beginning: only its end shows that a press was short. */
function usePress({ session, state }: Voice): { begin(event: TimedEvent): void; end(event: TimedEvent): void } {
  const pressed = useRef<{ at: number; wasOff: boolean }>(undefined)
  return {
    begin({ timeStamp }) {
      if (pressed.current) return
      const wasOff = state.kind === 'off'
      pressed.current = { at: timeStamp, wasOff }
      if (wasOff) session.tell({ type: 'begin', mode: 'hold' })
    },
    end({ timeStamp }) {
      const { current } = pressed
      pressed.current = undefined
      if (!current) return
      if (!current.wasOff) session.tell({ type: 'end' })
      else if (timeStamp - current.at < tapMs) session.tell({ type: 'begin', mode: 'hands_free' })
      else session.tell({ type: 'released' })
    },
  }
}

/** A shorter press of a key is a tap: it starts recording, and the next one ends it. Not every user can hold a key. */
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

/** Shows why speaking failed, and which voice was used instead. */
export function useSpeakingReports(): void {
  const toasts = useToasts()
  useEffect(() => onSpeakingReports(toasts), [toasts])
}
