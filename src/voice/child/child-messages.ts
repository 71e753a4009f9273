/** To the child that holds a model: one piece of work at a time, the next one after the answer. */
export type ToChild =
  | { type: 'transcribe'; recording: Uint8Array }
  /** Sentences in the model's phonemes. */
  | { type: 'speak'; sentences: readonly string[]; voice: string }

/** What comes of a piece of work. */
export type ChildAnswer =
  | { type: 'transcribed'; text: string; seconds: number }
  | { type: 'spoken'; wav: Uint8Array }
  /** In words for the user. */
  | { type: 'failed'; reason: string }

/** From the child: once whether it can work, then signs of life and an answer to each piece of work. */
export type FromChild =
  | { type: 'ready' }
  /** It ends by itself after this. */
  | { type: 'unusable'; message: string }
  | { type: 'progress' }
  | ChildAnswer

export type VoiceKind = 'transcription' | 'speech'
