import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { VoiceReply } from '../../../src/protocol/channels.ts'
import { call } from '../api/call.ts'
import type { Conversation } from '../chat/conversation.ts'
import { createBrowserEars, type OpenEars } from './browser-ears.ts'
import {
  browserVoices,
  createBrowserVoice,
  createDaemonVoice,
  createMouth,
  type Mouth,
  type SpeakingVoice,
} from './mouth.ts'
import { createRecordedEars, findRecognizer } from './recorded-ears.ts'
import { takeSentences } from './sentences.ts'
import { createHoldPress, type HoldPress, useSpeakingReports } from './voice-controls.tsx'
import { VoiceFailure } from './voice-problem.tsx'
import { createVoiceSession, type VoiceSession } from './voice-session.ts'
import { chooseEars, chooseVoice, voiceSettings } from './voice-settings.ts'
import type { VoiceState } from './voice-state.ts'

/** Told what went wrong with speaking, and that another voice was used; the page shows it. */
let reports: { failed(error: unknown): void; done(text: string): void } | undefined
export function onSpeakingReports(show: typeof reports): void {
  reports = show
}

let known: Promise<VoiceReply> | undefined

/** The voice support of the daemon. Loaded again as long as something is missing: it may have been installed meanwhile. */
export function daemonVoice(): Promise<VoiceReply> {
  known ??= call('voice.status').then(
    (reply) => {
      if (reply.speech.by === null || reply.transcription.by === null) known = undefined
      return reply
    },
    (error: unknown) => {
      known = undefined
      throw error
    },
  )
  return known
}

/** The language that the user spoke last. */
let heardLanguage: string | null = null

export const spokenLanguage = () => voiceSettings().language ?? heardLanguage ?? navigator.language

/** A notice is shown once, not at every sentence. */
const noticed = new Set<string>()
function showNotice(notice: string): void {
  if (noticed.has(notice)) return
  noticed.add(notice)
  reports?.done(notice)
}

async function speakingVoice(): Promise<SpeakingVoice> {
  const settings = { ...voiceSettings(), language: spokenLanguage() }
  const { speech } = await daemonVoice()
  const found = chooseVoice(settings, { voices: browserVoices(), daemon: speech })
  if (!found.ok) throw new VoiceFailure(found.problem)
  const rate = () => voiceSettings().rate
  return found.chosen.by === 'browser'
    ? createBrowserVoice(found.chosen.voice, rate)
    : createDaemonVoice({ name: found.chosen.name, language: spokenLanguage(), rate, onNotice: showNotice })
}

export const mouth: Mouth = createMouth({
  voice: speakingVoice,
  onFailure: (error) => reports?.failed(error),
})

const openBrowserEars = createBrowserEars({ language: spokenLanguage, said: mouth.recent })

const openRecordedEars = createRecordedEars({
  expected: () => voiceSettings().language ?? heardLanguage,
  onHeard(language) {
    heardLanguage = language
  },
})

const openEars: OpenEars = async (mode, listener, signal) => {
  const { transcription } = await daemonVoice()
  signal.throwIfAborted()
  const found = chooseEars(voiceSettings(), { hasRecognizer: findRecognizer() !== undefined, daemon: transcription })
  if (!found.ok) throw new VoiceFailure(found.problem)
  // Loading takes seconds, and the user speaks first. A failure shows when the model is used.
  void call('voice.warm').catch(() => undefined)
  return found.chosen === 'browser' ? openBrowserEars(mode, listener, signal) : openRecordedEars(mode, listener, signal)
}

/** Speaks a whole text instead of the current one. */
export function readAloud(text: string, owner: string): void {
  mouth.cut()
  for (const sentence of takeSentences(text).sentences) mouth.say(sentence, owner)
}

/** Alt+V held speaks, Alt+Shift+V is hands-free, Escape is the way out. */
function useVoiceKeys({ session, hold }: { session: VoiceSession; hold: HoldPress }): void {
  useEffect(() => {
    let isHeld = false

    function onKeyDown(event: KeyboardEvent): void {
      const { kind } = session.state()
      if (event.key === 'Escape' && kind !== 'off' && !isInDialog(event.target)) {
        // The turn continues: only the voice ends.
        event.stopPropagation()
        session.tell({ type: 'end' })
        return
      }
      if (event.code !== 'KeyV' || !event.altKey || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      if (event.repeat || isHeld) return
      if (event.shiftKey) session.tell(kind === 'off' ? { type: 'begin', mode: 'hands_free' } : { type: 'end' })
      else {
        isHeld = true
        hold.press()
      }
    }

    function onKeyUp(event: KeyboardEvent): void {
      if (isHeld && (event.code === 'KeyV' || event.key === 'Alt')) letGo()
    }

    function letGo(): void {
      if (!isHeld) return
      isHeld = false
      hold.letGo()
    }

    window.addEventListener('keydown', onKeyDown, { capture: true })
    window.addEventListener('keyup', onKeyUp, { capture: true })
    window.addEventListener('blur', letGo)
    return () => {
      window.removeEventListener('keydown', onKeyDown, { capture: true })
      window.removeEventListener('keyup', onKeyUp, { capture: true })
      window.removeEventListener('blur', letGo)
    }
  }, [session, hold])
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role="dialog"], [role="menu"]') !== null
}

export interface Voice {
  session: VoiceSession
  state: VoiceState
  hold: HoldPress
  isMuted: boolean
  /** The conversation fills the screen. */
  isCall: boolean
  showCall(isShown: boolean): void
}

/** Talking by voice in the conversation that is shown; over when another is. */
export function useVoice(options: {
  sessionId: string | null
  conversation: Conversation
  onSend(text: string): Promise<boolean>
}): Voice {
  const { sessionId, conversation, onSend } = options
  useSpeakingReports()
  const send = useRef(onSend)
  const shown = useRef(sessionId)
  const isBeginning = useRef(false)
  const voice = useMemo(() => {
    const session = createVoiceSession({
      openEars,
      mouth,
      settings: voiceSettings,
      send(text) {
        isBeginning.current = shown.current === null
        return send.current(text)
      },
    })
    const hold = createHoldPress({
      begin: () => session.tell({ type: 'begin', mode: 'hold' }),
      release: () => session.tell({ type: 'released' }),
      now: () => performance.now(),
    })
    return { session, hold }
  }, [])
  const { session, hold } = voice
  const state = useSyncExternalStore(session.subscribe, session.state)
  const isMuted = useSyncExternalStore(session.subscribe, session.isMuted)
  const [isCallShown, showCall] = useState(true)
  const isHandsFree = state.kind !== 'off' && state.mode === 'hands_free'

  useEffect(() => {
    send.current = onSend
  }, [onSend])
  useEffect(() => session.follow(conversation), [session, conversation])
  useEffect(() => session.start(), [session])
  // Browsers load their list of voices at the first request.
  useEffect(() => void browserVoices(), [])

  useEffect(() => {
    if (shown.current === sessionId) return
    shown.current = sessionId
    // A new conversation gets its name with its first message; that is no other one.
    if (!isBeginning.current) session.tell({ type: 'end' })
    isBeginning.current = false
  }, [session, sessionId])

  useEffect(() => {
    if (state.kind !== 'off') return
    hold.reset()
    showCall(true)
  }, [state.kind, hold])
  useVoiceKeys(voice)
  const isCall = isHandsFree && isCallShown
  return useMemo(() => ({ session, hold, state, isMuted, isCall, showCall }), [session, hold, state, isMuted, isCall])
}
