import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import type { Conversation } from '../talk/conversation.ts'
import { createHoldPress, type HoldPress } from './hold-press.ts'
import { browserVoices } from './mouth/browser-voice.ts'
import { mouth, openEars } from './page-voice.ts'
import { useSpeakingFailures } from './use-speaking-failures.ts'
import { useVoiceKeys } from './use-voice-keys.ts'
import { createVoiceSession, type VoiceSession } from './voice-session.ts'
import { voiceSettings } from './voice-settings.ts'
import type { VoiceState } from './voice-state.ts'

export interface Voice {
  session: VoiceSession
  state: VoiceState
  hold: HoldPress
}

/** Talking by voice in the conversation that is shown; over when another is. */
export function useVoice(options: {
  sessionId: string | null
  conversation: Conversation
  onSend(text: string): Promise<boolean>
}): Voice {
  const { sessionId, conversation, onSend } = options
  useSpeakingFailures()
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

  useEffect(() => {
    send.current = onSend
  }, [onSend])
  useEffect(() => session.follow(conversation), [session, conversation])
  useEffect(() => session.start(), [session])
  // Browsers read their list of voices when they are first asked for it.
  useEffect(() => void browserVoices(), [])

  useEffect(() => {
    if (shown.current === sessionId) return
    shown.current = sessionId
    // A new conversation gets its name with its first message; that is no other one.
    if (!isBeginning.current) session.tell({ type: 'end' })
    isBeginning.current = false
  }, [session, sessionId])

  useEffect(() => {
    if (state.kind === 'off') hold.reset()
  }, [state.kind, hold])
  useVoiceKeys(voice)
  return useMemo(() => ({ session, hold, state }), [session, hold, state])
}
