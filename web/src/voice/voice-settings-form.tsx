import { useEffect, useId, useState } from 'react'
import type { VoiceReply } from '../../../src/protocol/voice-api.ts'
import { Button } from '../components/button.tsx'
import { type Choice, SelectField } from '../components/field.tsx'
import { Failure } from '../components/notice.tsx'
import { findRecogniser } from './ears/recogniser.ts'
import { browserVoices, onBrowserVoices } from './mouth/browser-voice.ts'
import { daemonVoice, readAloud, spokenLanguage } from './page-voice.ts'
import { useSpeakingFailures } from './use-speaking-failures.ts'
import { changeVoiceSettings, useVoiceSettings, type VoiceSettings } from './voice-settings.ts'

/** Who listens, who speaks, and how. */
export function VoiceSettingsForm() {
  const settings = useVoiceSettings()
  const [daemon, setDaemon] = useState<VoiceReply>()
  const [error, setError] = useState<Error>()
  const [voices, setVoices] = useState(browserVoices)
  const rateId = useId()
  useSpeakingFailures()

  useEffect(() => onBrowserVoices(() => setVoices(browserVoices())), [])
  useEffect(() => void daemonVoice().then(setDaemon, setError), [])

  const { transcription, speech } = daemon ?? {}
  return (
    <div className="space-y-4">
      {error && <Failure error={error} />}
      <SelectField
        label="Who understands you"
        hint={
          settings.ears === 'browser'
            ? 'Some browsers, Chrome among them, send what you say to their maker.'
            : transcription?.by === null
              ? transcription.hint
              : undefined
        }
        choices={earsChoices(transcription)}
        value={settings.ears ?? ''}
        onChange={(value) => changeVoiceSettings({ ears: value === 'browser' || value === 'daemon' ? value : null })}
      />
      <SelectField
        label="Language that you speak"
        hint="For the browser’s recognition, and to find a voice."
        choices={languageChoices(settings.language)}
        value={settings.language ?? ''}
        onChange={(value) => changeVoiceSettings({ language: value || null })}
      />
      <SelectField
        label="Voice"
        hint={speech?.by === null && voices.length === 0 ? speech.hint : undefined}
        choices={voiceChoices(voices, speech)}
        value={settings.voice ? `${settings.voice.by}:${settings.voice.name ?? ''}` : ''}
        onChange={(value) => changeVoiceSettings({ voice: toVoice(value) })}
      />
      <div>
        <label htmlFor={rateId} className="mb-1 block text-sm font-medium">
          Speed: {settings.rate.toFixed(1)}×
        </label>
        <div className="flex items-center gap-3">
          <input
            id={rateId}
            type="range"
            min={0.5}
            max={2}
            step={0.1}
            value={settings.rate}
            onChange={(event) => changeVoiceSettings({ rate: Number(event.target.value) })}
            className="min-h-9 min-w-0 flex-1 accent-accent"
          />
          <Button onClick={() => readAloud('This is how I sound.', 'trial')}>Try it</Button>
        </div>
      </div>
      <Check
        label="Speaking interrupts"
        hint="Off is better where the microphone hears the loudspeakers."
        isOn={settings.isInterruptible}
        onChange={(isInterruptible) => changeVoiceSettings({ isInterruptible })}
      />
      <Check
        label="What I say while holding the button is answered aloud"
        isOn={settings.isAnsweredAloud}
        onChange={(isAnsweredAloud) => changeVoiceSettings({ isAnsweredAloud })}
      />
    </div>
  )
}

function Check(props: { label: string; hint?: string; isOn: boolean; onChange(isOn: boolean): void }) {
  const { label, hint, isOn, onChange } = props
  return (
    <label className="flex items-start gap-2.5">
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
        className="mt-1 size-4 accent-accent"
      />
      <span>
        {label}
        {hint && <span className="block text-sm text-soft">{hint}</span>}
      </span>
    </label>
  )
}

function earsChoices(daemon: VoiceReply['transcription'] | undefined): Choice[] {
  const hasOwn = findRecogniser() !== undefined
  return [
    { value: '', label: hasOwn ? 'Ask when it is needed' : 'Familiar' },
    ...(hasOwn ? [{ value: 'browser', label: 'The browser' }] : []),
    { value: 'daemon', label: daemon?.by ? `Familiar (${daemon.by})` : 'Familiar (not installed)' },
  ]
}

function languageChoices(chosen: string | null): Choice[] {
  const known = new Set([...(chosen ? [chosen] : []), ...navigator.languages])
  return [
    { value: '', label: `As the browser has it (${spokenLanguage()})` },
    ...[...known].map((language) => ({ value: language, label: nameOf(language) })),
  ]
}

function nameOf(language: string): string {
  return new Intl.DisplayNames([navigator.language], { type: 'language' }).of(language) ?? language
}

function voiceChoices(voices: readonly SpeechSynthesisVoice[], daemon: VoiceReply['speech'] | undefined): Choice[] {
  const names = daemon?.by ? [null, ...daemon.voices] : []
  return [
    { value: '', label: 'The first that needs no network' },
    ...names.map((name) => ({
      value: `daemon:${name ?? ''}`,
      label: `Familiar: ${name ?? daemon?.by}`,
    })),
    ...voices.map(({ voiceURI, name, lang, localService }) => ({
      value: `browser:${voiceURI}`,
      label: `${name} (${lang})${localService ? '' : ', sends the text to its maker'}`,
    })),
  ]
}

function toVoice(value: string): VoiceSettings['voice'] {
  const [, by, name] = /^(browser|daemon):(.*)$/s.exec(value) ?? []
  if (by !== 'browser' && by !== 'daemon') return null
  return { by, name: name || null }
}
