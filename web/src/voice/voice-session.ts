import type { Conversation, TurnItem } from '../chat/conversation.ts'
import { type Ears, type EarsListener, isEcho, type OpenEars } from './browser-ears.ts'
import { createReplyReader, type Mouth } from './mouth.ts'
import { toProblem } from './voice-problem.tsx'
import type { VoiceSettings } from './voice-settings.ts'
import { mayReply, transition, type VoiceCommand, type VoiceEvent, type VoiceState, voiceOff } from './voice-state.ts'

/** A conversation by voice: recognition, speech and messages. */
export interface VoiceSession {
  state(): VoiceState
  tell(event: VoiceEvent): void
  /** The conversation as it is now. */
  follow(conversation: Conversation): void
  subscribe(listener: () => void): () => void
  /** The microphone is off while the conversation continues. */
  isMuted(): boolean
  setMuted(isMuted: boolean): void
  /** How loud the user is, 0 to 1. */
  subscribeLevel(listener: (level: number) => void): () => void
  /** Until the returned function is called, which releases everything. */
  start(): () => void
}

/** Only the newest can still be said. */
const lookedAt = 8

export function createVoiceSession(needs: {
  openEars: OpenEars
  mouth: Mouth
  settings: () => VoiceSettings
  /** False where it could not be sent. */
  send(text: string): Promise<boolean>
}): VoiceSession {
  const { openEars, mouth, settings } = needs
  const listeners = new Set<() => void>()
  const levelListeners = new Set<(level: number) => void>()
  const reader = createReplyReader()
  let state: VoiceState = voiceOff
  let turns: readonly TurnItem[] = []
  /** The turns that ended before the last message was sent. */
  let earlierTurns: ReadonlySet<string> = new Set()
  let ears: Ears | undefined
  let opening = new AbortController()
  /** Speech that starts while Familiar speaks may be its own voice. */
  let isOverVoice = false
  let isIgnored = false
  let isMuted = false
  /** The ears rest during a pause of the conversation. */
  let isResting = false
  /** In the middle of a change, what the mouth tells is not the new state yet. */
  let isChanging = false

  function tell(event: VoiceEvent): void {
    const { kind } = state
    const next = transition(state, event)
    state = next.state
    isChanging = true
    for (const command of next.commands) run(command)
    isChanging = false
    if (state.kind === 'off') isMuted = isResting = false
    ears?.setGuarded(isSpeaking())
    for (const listener of listeners) listener()
    // Sentences that came in the meantime are waiting.
    if (state.kind !== kind && mayReply(state)) followMouth()
  }

  function tellEars(): void {
    ears?.setMuted(isMuted || isResting)
  }

  function run(command: VoiceCommand): void {
    switch (command.do) {
      case 'open_ears':
        return void open(command.mode)
      case 'finish_ears':
        ears?.finish()
        return
      case 'close_ears':
        opening.abort()
        ears?.close()
        ears = undefined
        return
      case 'rest_ears':
      case 'wake_ears':
        isResting = command.do === 'rest_ears'
        tellEars()
        return
      case 'hold_voice':
        mouth.hold()
        return
      case 'resume_voice':
        mouth.resume()
        return
      case 'cut_voice':
        mouth.cut()
        for (const turn of turns) reader.skip(turn)
        return
      case 'send':
        return void send(command.text)
    }
  }

  async function open(mode: 'hold' | 'hands_free'): Promise<void> {
    opening = new AbortController()
    const { signal } = opening
    try {
      const opened = await openEars(mode, listener, signal)
      if (signal.aborted) return opened.close()
      ears = opened
      tellEars()
      tell({ type: 'opened' })
    } catch (error) {
      if (!signal.aborted) tell({ type: 'failed', problem: toProblem(error) })
    }
  }

  async function send(text: string): Promise<void> {
    earlierTurns = new Set(turns.filter(({ outcome }) => outcome !== undefined).map(({ id }) => id))
    if (!(await needs.send(text))) return tell({ type: 'failed', problem: { kind: 'not_sent', detail: text } })
    if (!isAloud()) tell({ type: 'quiet' })
  }

  const isAloud = () => state.kind !== 'off' && (state.mode === 'hands_free' || settings().isAnsweredAloud)
  const isSpeaking = () => mouth.owner() !== null
  const isHeard = () => !isSpeaking() || settings().isInterruptible

  const listener: EarsListener = {
    onSpeech() {
      isIgnored = !isHeard()
      isOverVoice = isSpeaking()
      if (!isIgnored) tell({ type: 'speech' })
    },
    onWords: (words) => isHeard() && tell({ type: 'words', words }),
    onPause: () => !isIgnored && tell({ type: 'paused' }),
    onUtterance(text) {
      if (isIgnored || !isHeard()) return
      tell({ type: 'utterance', text: isOverVoice && isEcho(text, mouth.recent()) ? '' : text })
    },
    onLevel(level) {
      for (const one of levelListeners) one(level)
    },
    onProblem: (problem) => tell({ type: 'failed', problem }),
  }

  function speak(): void {
    if (!mayReply(state) || !isAloud()) return
    for (const turn of turns) {
      // Turns from before the voice was switched on are not spoken.
      if (state.kind === 'listening' && !reader.knows(turn.id) && turn.outcome !== undefined) reader.skip(turn)
      for (const sentence of reader.next(turn)) mouth.say(sentence, 'reply')
    }
  }

  /** The state says what is heard, not what is planned. */
  function followMouth(): void {
    if (isChanging) return
    speak()
    const sound = mouth.state()
    if (sound === 'sounding' && mouth.owner() === 'reply' && state.kind !== 'speaking') tell({ type: 'reply' })
    else if (sound === 'preparing' && state.kind === 'speaking') tell({ type: 'silenced' })
    lookWhetherQuiet()
  }

  function lookWhetherQuiet(): void {
    const isAnswered = turns.some(({ id }) => !earlierTurns.has(id))
    const isOver = turns.every(({ outcome }) => outcome !== undefined)
    const isWaiting = state.kind === 'thinking' || state.kind === 'speaking'
    if (isWaiting && isAnswered && isOver && !isSpeaking()) tell({ type: 'quiet' })
  }

  return {
    state: () => state,
    tell,
    follow({ items }) {
      turns = items.slice(-lookedAt).filter((item) => item.kind === 'turn')
      followMouth()
    },
    isMuted: () => isMuted,
    setMuted(muted) {
      isMuted = muted
      tellEars()
      for (const listener of listeners) listener()
    },
    subscribe: (one) => subscribed(listeners, one),
    subscribeLevel: (one) => subscribed(levelListeners, one),
    start() {
      const stopWatching = mouth.subscribe(() => {
        ears?.setGuarded(isSpeaking())
        followMouth()
      })
      return () => {
        stopWatching()
        tell({ type: 'end' })
      }
    },
  }
}

function subscribed<T>(all: Set<T>, one: T): () => void {
  all.add(one)
  return () => void all.delete(one)
}
