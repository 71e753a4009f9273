import type { VoiceProblem } from './voice-problem.tsx'

/** `hold`: as long as the button is held, then one answer. `hands_free`: one after the other, until it is ended. */
export type VoiceMode = 'hold' | 'hands_free'

/** The state to return to after a sound that was no speech. */
type Before = 'listening' | 'thinking'

export type VoiceState =
  | { kind: 'off'; problem: VoiceProblem | null; wanted: VoiceMode }
  | { kind: 'opening'; mode: VoiceMode }
  /** `words` are the words recognized so far, where the recognition reports them. */
  | { kind: 'listening'; mode: VoiceMode; isHearing: boolean; words: string; before: Before }
  /** The speech is being transcribed. */
  | { kind: 'writing'; mode: VoiceMode; words: string; before: Before }
  /** The reply is being written, or its sound is being made. */
  | { kind: 'thinking'; mode: VoiceMode }
  /** Sound plays. */
  | { kind: 'speaking'; mode: VoiceMode }
  /** The user stopped the reply and the microphone for a while. */
  | { kind: 'paused'; mode: VoiceMode; before: Before }

export type VoiceEvent =
  | { type: 'begin'; mode: VoiceMode }
  | { type: 'opened' }
  /** The button or the key was released. */
  | { type: 'released' }
  /** The user began to speak. */
  | { type: 'speech' }
  | { type: 'words'; words: string }
  /** The user has stopped speaking. */
  | { type: 'paused' }
  | { type: 'utterance'; text: string }
  /** The sound of the answer plays. */
  | { type: 'reply' }
  /** The next sentence of the answer is not ready yet. */
  | { type: 'silenced' }
  /** The user stops everything for a while. */
  | { type: 'pause' }
  | { type: 'resume' }
  /** The user stopped the spoken reply. */
  | { type: 'hushed' }
  /** The answer is whole, and all of it has been said. */
  | { type: 'quiet' }
  | { type: 'failed'; problem: VoiceProblem }
  | { type: 'end' }

export type VoiceCommand =
  | { do: 'open_ears'; mode: VoiceMode }
  | { do: 'finish_ears' }
  | { do: 'close_ears' }
  /** Nothing of the sound of the microphone counts any more; and again. */
  | { do: 'rest_ears' }
  | { do: 'wake_ears' }
  /** Stops speaking at once and keeps the place. */
  | { do: 'hold_voice' }
  | { do: 'resume_voice' }
  /** Stops speaking at once and drops the rest of the answer. */
  | { do: 'cut_voice' }
  | { do: 'send'; text: string }

interface Transition {
  state: VoiceState
  commands: readonly VoiceCommand[]
}

export const voiceOff: VoiceState = { kind: 'off', problem: null, wanted: 'hold' }

/** The transitions. An event that does not belong to a state changes nothing: late events of recognition and voices are common. */
export function transition(state: VoiceState, event: VoiceEvent): Transition {
  switch (event.type) {
    case 'begin':
      return begin(state, event.mode)
    case 'opened':
      return state.kind === 'opening' ? to(listening(state.mode)) : to(state)
    case 'released':
      return released(state)
    case 'speech':
      return speech(state, '')
    case 'words':
      return speech(state, event.words)
    case 'paused':
      return state.kind === 'listening' && state.mode === 'hands_free'
        ? to({ kind: 'writing', mode: state.mode, words: state.words, before: state.before })
        : to(state)
    case 'utterance':
      return utterance(state, event.text.trim())
    case 'reply':
      return mayReply(state) ? to({ kind: 'speaking', mode: state.mode }) : to(state)
    case 'silenced':
      return state.kind === 'speaking' ? to({ kind: 'thinking', mode: state.mode }) : to(state)
    case 'pause':
      return pause(state)
    case 'resume':
      return state.kind === 'paused' ? to(back(state), { do: 'wake_ears' }, { do: 'resume_voice' }) : to(state)
    case 'hushed':
      return state.kind === 'speaking' ? withCut(quiet(state)) : to(state)
    case 'quiet':
      return quiet(state)
    case 'failed':
      return off(state, event.problem)
    case 'end':
      return off(state, null)
  }
}

function to(state: VoiceState, ...commands: VoiceCommand[]): Transition {
  return { state, commands }
}

function listening(mode: VoiceMode): VoiceState {
  return { kind: 'listening', mode, isHearing: false, words: '', before: 'listening' }
}

/** The state before the user was heard, or before the pause. A reply that sounds again changes it to `speaking`. */
function back({ mode, before }: { mode: VoiceMode; before: Before }): VoiceState {
  return before === 'thinking' ? { kind: 'thinking', mode } : listening(mode)
}

function pause(state: VoiceState): Transition {
  if (state.kind === 'off' || state.kind === 'opening' || state.kind === 'paused') return to(state)
  if (state.mode === 'hold') return to(state)
  const before = 'before' in state ? state.before : 'thinking'
  return to({ kind: 'paused', mode: state.mode, before }, { do: 'rest_ears' }, { do: 'hold_voice' })
}

function begin(state: VoiceState, mode: VoiceMode): Transition {
  const open: VoiceCommand[] = [{ do: 'cut_voice' }, { do: 'open_ears', mode }]
  if (state.kind === 'off') return to({ kind: 'opening', mode }, ...open)
  if (state.mode === 'hands_free') return to(state)
  // Held again before the reply ended, or switched to hands-free.
  const isOver = state.kind === 'thinking' || state.kind === 'speaking'
  return isOver || mode === 'hands_free' ? to({ kind: 'opening', mode }, { do: 'close_ears' }, ...open) : to(state)
}

function released(state: VoiceState): Transition {
  if (state.kind === 'off' || state.mode === 'hands_free') return to(state)
  // The browser may have asked for permission meanwhile: the next time it listens at once.
  if (state.kind === 'opening') return off(state, { kind: 'nothing_heard', detail: '' })
  return state.kind === 'listening'
    ? to({ kind: 'writing', mode: state.mode, words: state.words, before: 'listening' }, { do: 'finish_ears' })
    : to(state)
}

/** The reply only waits: what sounds like speech may be a cough. */
function speech(state: VoiceState, words: string): Transition {
  switch (state.kind) {
    case 'listening': {
      const heard: VoiceState = { ...state, isHearing: true, words: words || state.words }
      // Something else may be read aloud meanwhile.
      return state.isHearing ? to(heard) : to(heard, { do: 'hold_voice' })
    }
    case 'writing':
      if (state.mode === 'hold') return to(state)
      // It was only a pause between words.
      return to({ ...state, kind: 'listening', isHearing: true, words: words || state.words })
    case 'thinking':
    case 'speaking': {
      if (state.mode === 'hold') return to(state)
      const heard: VoiceState = { kind: 'listening', mode: state.mode, isHearing: true, words, before: 'thinking' }
      return to(heard, { do: 'hold_voice' })
    }
    default:
      return to(state)
  }
}

function utterance(state: VoiceState, text: string): Transition {
  if (state.kind === 'off' || state.kind === 'opening') return to(state)
  const { mode } = state
  if (mode === 'hands_free') {
    const wake: VoiceCommand[] = state.kind === 'paused' ? [{ do: 'wake_ears' }] : []
    if (text !== '') return to({ kind: 'thinking', mode }, ...wake, { do: 'cut_voice' }, { do: 'send', text })
    const isNothing = state.kind === 'writing' || state.kind === 'listening'
    return isNothing ? to(back(state), { do: 'resume_voice' }) : to(state)
  }
  if (state.kind !== 'listening' && state.kind !== 'writing') return to(state)
  if (text === '') return off(state, { kind: 'nothing_heard', detail: '' })
  return to({ kind: 'thinking', mode }, { do: 'close_ears' }, { do: 'cut_voice' }, { do: 'send', text })
}

/** Also when Familiar speaks by itself and the user is silent. */
export function mayReply(state: VoiceState): state is Exclude<VoiceState, { kind: 'off' }> {
  if (state.kind === 'listening') return state.mode === 'hands_free' && !state.isHearing
  return state.kind === 'thinking' || state.kind === 'speaking'
}

function quiet(state: VoiceState): Transition {
  if (state.kind !== 'thinking' && state.kind !== 'speaking') return to(state)
  return state.mode === 'hands_free' ? to(listening(state.mode)) : off(state, null)
}

function withCut({ state, commands }: Transition): Transition {
  return to(state, { do: 'cut_voice' }, ...commands)
}

function off(state: VoiceState, problem: VoiceProblem | null): Transition {
  if (state.kind === 'off') return to({ ...state, problem })
  return to({ kind: 'off', problem, wanted: state.mode }, { do: 'close_ears' }, { do: 'cut_voice' })
}
