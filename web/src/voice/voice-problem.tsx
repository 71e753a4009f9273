import { Button } from '../components/controls.tsx'
import { Notice } from '../components/feedback.tsx'
import { t } from '../strings/strings.ts'
import type { Voice } from './use-voice.ts'
import { changeVoiceSettings } from './voice-settings.ts'
import { EarsChoice } from './voice-settings-form.tsx'
import type { VoiceMode } from './voice-state.ts'

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

/** How to fix it. */
function describeProblem({ kind, detail }: VoiceProblem): string {
  switch (kind) {
    case 'choose':
      return t.voice.whichSpeechRecognition
    case 'refused':
      return t.voice.microphoneBlockedClickIcon
    case 'no_microphone':
      return t.voice.noMicrophoneFoundConnect
    case 'microphone_taken':
      return t.voice.microphoneGivesNoSound
    case 'insecure':
      return t.voice.browsersAllowMicrophoneOnly
    case 'unable':
      return detail
    case 'unreached':
      return t.voice.browsersSpeechRecognitionDoes
    case 'nothing_heard':
      return t.voice.nothingHeardHoldButton
    case 'not_sent':
      return t.voice.couldNotSend(detail)
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

/** Why there is no voice, and what can be done about it. */
export function VoiceProblemView(props: { voice: Voice; problem: VoiceProblem; onSettings(): void }) {
  const { voice, problem, onSettings } = props
  const { session, state } = voice
  const wanted: VoiceMode = state.kind === 'off' ? state.wanted : 'hold'
  const dismiss = () => session.tell({ type: 'end' })

  if (problem.kind === 'choose') {
    return (
      <EarsChoice
        // The button was released meanwhile; the user presses it again.
        onChosen={() => (wanted === 'hands_free' ? session.tell({ type: 'begin', mode: wanted }) : dismiss())}
        onCancel={dismiss}
      />
    )
  }
  return (
    <Notice kind={problem.kind === 'nothing_heard' ? 'note' : 'error'}>
      <p className="whitespace-pre-wrap">{describeProblem(problem)}</p>
      <div className="mt-2 flex flex-wrap gap-2">
        {problem.kind === 'unreached' && (
          <Button
            size="small"
            onClick={() => {
              changeVoiceSettings({ ears: null })
              session.tell({ type: 'begin', mode: wanted })
            }}
          >
            {t.voice.changeSpeechRecognition}
          </Button>
        )}
        {wanted === 'hands_free' && (
          <Button size="small" onClick={() => session.tell({ type: 'begin', mode: wanted })}>
            {t.common.tryAgain}
          </Button>
        )}
        <Button size="small" onClick={onSettings}>
          {t.voice.voiceSettings}
        </Button>
        <Button size="small" onClick={dismiss}>
          {t.voice.dismiss}
        </Button>
      </div>
    </Notice>
  )
}
