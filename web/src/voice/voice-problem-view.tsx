import { Button } from '../components/button.tsx'
import { Notice } from '../components/notice.tsx'
import { EarsChoice } from './ears-choice.tsx'
import type { Voice } from './use-voice.ts'
import { describeProblem, type VoiceProblem } from './voice-problem.ts'
import { changeVoiceSettings } from './voice-settings.ts'
import type { VoiceMode } from './voice-state.ts'

/** Why there is no voice, and what can be done about it. */
export function VoiceProblemView(props: { voice: Voice; problem: VoiceProblem; onSettings(): void }) {
  const { voice, problem, onSettings } = props
  const { session, state } = voice
  const wanted: VoiceMode = state.kind === 'off' ? state.wanted : 'hold'
  const dismiss = () => session.tell({ type: 'end' })

  if (problem.kind === 'choose') {
    return (
      <EarsChoice
        // Whoever held a button has let it go by now, and holds it again.
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
            Choose again who listens
          </Button>
        )}
        {wanted === 'hands_free' && (
          <Button size="small" onClick={() => session.tell({ type: 'begin', mode: wanted })}>
            Try again
          </Button>
        )}
        <Button size="small" onClick={onSettings}>
          Voice settings
        </Button>
        <Button size="small" onClick={dismiss}>
          Dismiss
        </Button>
      </div>
    </Notice>
  )
}
