import { useState } from 'react'
import { Button, IconButton } from '../components/button.tsx'
import { classes } from '../components/classes.ts'
import { Icon } from '../components/icon.tsx'
import { LevelMeter } from './level-meter.tsx'
import type { Voice } from './use-voice.ts'
import { VoiceProblemView } from './voice-problem-view.tsx'
import { useVoiceSettings } from './voice-settings.ts'
import { VoiceSettingsDialog } from './voice-settings-dialog.tsx'
import { type VoiceState, voiceOff } from './voice-state.ts'

/** What the voice is doing, and the way out. Nothing where it is off. */
export function VoiceBar({ voice }: { voice: Voice }) {
  const { session, state } = voice
  const { isInterruptible } = useVoiceSettings()
  const [isSetting, setIsSetting] = useState(false)
  const isOn = state.kind !== 'off'
  const problem = state.kind === 'off' ? state.problem : null
  return (
    <>
      <p role="status" className="sr-only">
        {state === voiceOff ? '' : labelOf(state)}
      </p>
      <section aria-label="Voice" className="px-3 sm:px-6" hidden={!isOn && problem === null}>
        <div className="mx-auto mb-2 max-w-3xl">
          {problem && <VoiceProblemView voice={voice} problem={problem} onSettings={() => setIsSetting(true)} />}
          <div hidden={!isOn} className="rounded-2xl border border-line bg-raised px-3 py-2 shadow-sm">
            <div className="flex items-center gap-2">
              <LevelMeter session={session} state={state} />
              <p className="min-w-0 flex-1">
                <span className="font-medium">{labelOf(state)}</span>{' '}
                <span className={classes('text-sm text-soft', state.kind === 'speaking' && 'max-sm:hidden')}>
                  {hintOf(state, isInterruptible)}
                </span>
              </p>
              {state.kind === 'speaking' && (
                <Button size="small" onClick={() => session.tell({ type: 'hushed' })}>
                  Be quiet
                </Button>
              )}
              <IconButton label="Voice settings" onClick={() => setIsSetting(true)}>
                <Icon name="gear" />
              </IconButton>
              <IconButton label="End the voice (Escape)" onClick={() => session.tell({ type: 'end' })}>
                <Icon name="close" />
              </IconButton>
            </div>
            {state.kind === 'listening' && state.words !== '' && <p className="px-1 pb-1 text-soft">{state.words}</p>}
          </div>
        </div>
        <VoiceSettingsDialog isOpen={isSetting} onClose={() => setIsSetting(false)} />
      </section>
    </>
  )
}

function labelOf(state: VoiceState): string {
  switch (state.kind) {
    case 'off':
      return 'The voice is off'
    case 'opening':
      return 'Opening the microphone …'
    case 'listening':
      return state.isHearing ? 'Hearing you' : 'Listening'
    case 'writing':
      return 'Writing it down …'
    case 'thinking':
      return 'Thinking …'
    case 'speaking':
      return 'Speaking'
  }
}

function hintOf(state: VoiceState, isInterruptible: boolean): string {
  if (state.kind === 'listening') return state.mode === 'hold' ? 'Let go to send; Escape drops it' : ''
  return state.kind === 'speaking' && state.mode === 'hands_free' && isInterruptible ? 'Speak to interrupt' : ''
}
