/** What browsers have of speech recognition; TypeScript does not know it. */
export interface Recogniser extends EventTarget {
  lang: string
  continuous: boolean
  interimResults: boolean
  onstart: (() => void) | null
  onspeechstart: (() => void) | null
  onresult: ((event: RecognitionEvent) => void) | null
  onerror: ((event: { error: string; message?: string }) => void) | null
  onend: (() => void) | null
  start(): void
  stop(): void
  abort(): void
}

export interface RecognitionEvent {
  resultIndex: number
  results: ArrayLike<{ isFinal: boolean; 0?: { transcript: string } }>
}

interface MaybeRecognising {
  SpeechRecognition?: new () => Recogniser
  webkitSpeechRecognition?: new () => Recogniser
}

/** Undefined where the browser has none. */
export function findRecogniser(): (new () => Recogniser) | undefined {
  const { SpeechRecognition, webkitSpeechRecognition } = globalThis as MaybeRecognising
  return SpeechRecognition ?? webkitSpeechRecognition
}
