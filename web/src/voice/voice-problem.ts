/** Why nothing is heard or said; `detail` is what else is known about it, in words for the user. */
export interface VoiceProblem {
  kind:
    | 'choose'
    | 'refused'
    | 'no_microphone'
    | 'microphone_taken'
    | 'insecure'
    | 'unable'
    | 'unreached'
    | 'nothing_heard'
    | 'not_sent'
    | 'failed'
  detail: string
}

/** What to do about it. */
export function describeProblem({ kind, detail }: VoiceProblem): string {
  switch (kind) {
    case 'choose':
      return 'How should your speech be understood?'
    case 'refused':
      return 'The browser does not let this page use the microphone. Press the sign beside the address, allow the microphone there, and try again.'
    case 'no_microphone':
      return 'No microphone was found. Plug one in, or switch it on in the settings of the system, and try again.'
    case 'microphone_taken':
      return 'The microphone is there, but gives no sound: another program or tab may hold it, or the system keeps it from the browser. Close what uses it, and try again.'
    case 'insecure':
      return 'Browsers give the microphone only to pages at localhost or with https. Open the page on the machine where Familiar runs, or through a tunnel to its port.'
    case 'unable':
      return detail
    case 'unreached':
      return 'The speech recognition of this browser does not answer: it may need the network, or be missing in this build.'
    case 'nothing_heard':
      return 'Nothing was heard. Hold the button while you speak, or press it once, speak, and press it again.'
    case 'not_sent':
      return `This could not be sent: “${detail}”`
    case 'failed':
      return detail
  }
}

/** A failure of the browser's, as far as the browser says what it is. */
export function toProblem(error: unknown): VoiceProblem {
  if (error instanceof VoiceFailure) return error.problem
  const name = error instanceof Error || error instanceof DOMException ? error.name : ''
  if (name === 'NotAllowedError' || name === 'SecurityError') return { kind: 'refused', detail: '' }
  if (name === 'NotFoundError') return { kind: 'no_microphone', detail: '' }
  if (name === 'NotReadableError' || name === 'AbortError') return { kind: 'microphone_taken', detail: '' }
  return { kind: 'failed', detail: error instanceof Error ? error.message : String(error) }
}

export class VoiceFailure extends Error {
  readonly problem: VoiceProblem

  constructor(problem: VoiceProblem) {
    super(describeProblem(problem))
    this.problem = problem
  }
}
