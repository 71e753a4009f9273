import type { VoiceProblem } from './voice-problem.tsx'

/** `hold`: as long as the button is held, then one answer. `hands_free`: one after the other, until it is ended. */
export type VoiceMode = 'hold' | 'hands_free'

export type VoiceState =
  | { kind: 'off'; problem: VoiceProblem | null; wanted: VoiceMode }
  | { kind: 'opening'; mode: VoiceMode }
  /** `words` are the words recognized so far, where the recognition reports them. */
  | { kind: 'listening'; mode: VoiceMode; isHearing: boolean; words: string }
  /** The speech is being transcribed. */
  | { kind: 'writing'; mode: VoiceMode }
  | { kind: 'thinking'; mode: VoiceMode }
  | { kind: 'speaking'; mode: VoiceMode }

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
  /** The first words of the answer are being said. */
  | { type: 'reply' }
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
        ? to({ kind: 'writing', mode: state.mode })
        : to(state)
    case 'utterance':
      return utterance(state, event.text.trim())
    case 'reply':
      return mayReply(state) ? to({ kind: 'speaking', mode: state.mode }) : to(state)
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
  return { kind: 'listening', mode, isHearing: false, words: '' }
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
  return state.kind === 'listening' ? to({ kind: 'writing', mode: state.mode }, { do: 'finish_ears' }) : to(state)
}

function speech(state: VoiceState, words: string): Transition {
  switch (state.kind) {
    case 'listening': {
      const heard: VoiceState = { ...state, isHearing: true, words: words || state.words }
      // Something else may be read aloud meanwhile.
      return state.isHearing ? to(heard) : to(heard, { do: 'cut_voice' })
    }
    case 'writing':
    case 'thinking':
    case 'speaking': {
      if (state.mode === 'hold') return to(state)
      const heard: VoiceState = { kind: 'listening', mode: state.mode, isHearing: true, words }
      return state.kind === 'writing' ? to(heard) : to(heard, { do: 'cut_voice' })
    }
    default:
      return to(state)
  }
}

function utterance(state: VoiceState, text: string): Transition {
  if (state.kind === 'off' || state.kind === 'opening') return to(state)
  const { mode } = state
  if (mode === 'hands_free') {
    if (text !== '') return to({ kind: 'thinking', mode }, { do: 'cut_voice' }, { do: 'send', text })
    return state.kind === 'writing' || state.kind === 'listening' ? to(listening(mode)) : to(state)
  }
  if (state.kind !== 'listening' && state.kind !== 'writing') return to(state)
  if (text === '') return off(state, { kind: 'nothing_heard', detail: '' })
  return to({ kind: 'thinking', mode }, { do: 'close_ears' }, { do: 'send', text })
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
