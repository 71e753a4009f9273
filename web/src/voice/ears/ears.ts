import type { VoiceProblem } from '../voice-problem.ts'
import type { VoiceMode } from '../voice-state.ts'

/** What hears the user. */
export interface Ears {
  /** What is being said is all there is: it is understood, and told as an utterance. */
  finish(): void
  /** Lets go of the microphone at once; nothing is told any more. */
  close(): void
  /** Familiar is speaking: what is heard may be its own voice. */
  setGuarded(isGuarded: boolean): void
}

export interface EarsListener {
  onSpeech(): void
  /** Understood so far; may change. */
  onWords(words: string): void
  onPause(): void
  /** Empty where nothing was understood. */
  onUtterance(text: string): void
  onLevel(level: number): void
  onProblem(problem: VoiceProblem): void
}

/** Resolves once it hears; rejects with a `VoiceFailure` or what the browser throws. Whoever aborts has it closed. */
export type OpenEars = (mode: VoiceMode, listener: EarsListener, signal: AbortSignal) => Promise<Ears>
