import { useEffect, useId, useRef, useState } from 'react'
import type { VoiceReply } from '../../../src/protocol/channels.ts'
import { Button } from '../components/controls.tsx'
import { Failure } from '../components/feedback.tsx'
import { type Choice, Dialog, SelectField } from '../components/forms.tsx'
import { formatDecimal, languageName } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { browserVoices, onBrowserVoices } from './mouth.ts'
import { findRecognizer } from './recorded-ears.ts'
import { daemonVoice, readAloud, spokenLanguage } from './use-voice.ts'
import { useSpeakingReports } from './voice-controls.tsx'
import { changeVoiceSettings, useVoiceSettings, type VoiceSettings } from './voice-settings.ts'

/** The settings for recognition and voices. */
export function VoiceSettingsForm() {
  const settings = useVoiceSettings()
  const [daemon, setDaemon] = useState<VoiceReply>()
  const [error, setError] = useState<Error>()
  const [voices, setVoices] = useState(browserVoices)
  const rateId = useId()
  useSpeakingReports()

  useEffect(() => onBrowserVoices(() => setVoices(browserVoices())), [])
  useEffect(() => void daemonVoice().then(setDaemon, setError), [])

  const { transcription, speech } = daemon ?? {}
  return (
    <div className="space-y-4">
      {error && <Failure error={error} />}
      <SelectField
        label={t.voice.speechRecognition}
        hint={
          settings.ears === 'browser'
            ? t.voice.someBrowsersSuchChrome
            : transcription?.by === null
              ? transcription.hint
              : undefined
        }
        choices={earsChoices(transcription)}
        value={settings.ears ?? ''}
        onChange={(value) => changeVoiceSettings({ ears: value === 'browser' || value === 'daemon' ? value : null })}
      />
      <SelectField
        label={t.voice.spokenLanguage}
        hint={t.voice.usedSpeechRecognitionChoose}
        choices={languageChoices(settings.language)}
        value={settings.language ?? ''}
        onChange={(value) => changeVoiceSettings({ language: value || null })}
      />
      <SelectField
        label={t.voice.voice}
        hint={speech?.by === null && voices.length === 0 ? speech.hint : undefined}
        choices={voiceChoices(voices, speech)}
        value={settings.voice ? `${settings.voice.by}:${settings.voice.name ?? ''}` : ''}
        onChange={(value) => changeVoiceSettings({ voice: toVoice(value) })}
      />
      <div>
        <label htmlFor={rateId} className="mb-1 block text-sm font-medium">
          {t.voice.speed(formatDecimal(settings.rate, 1))}
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
          <Button onClick={() => readAloud(t.voice.howISound, 'trial')}>{t.voice.test}</Button>
        </div>
      </div>
      <Check
        label={t.voice.interruptBySpeaking}
        hint={t.voice.turnOffIfMicrophone}
        isOn={settings.isInterruptible}
        onChange={(isInterruptible) => changeVoiceSettings({ isInterruptible })}
      />
      <Check
        label={t.voice.readRepliesHeldButton}
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
  const hasOwn = findRecognizer() !== undefined
  return [
    { value: '', label: hasOwn ? t.voice.askWhenNeeded : t.common.familiar },
    ...(hasOwn ? [{ value: 'browser', label: t.voice.browser }] : []),
    { value: 'daemon', label: daemon?.by ? t.voice.familiar(daemon.by) : t.voice.familiarNotInstalled },
  ]
}

function languageChoices(chosen: string | null): Choice[] {
  const known = new Set([...(chosen ? [chosen] : []), ...navigator.languages])
  return [
    { value: '', label: t.voice.browserLanguage(spokenLanguage()) },
    ...[...known].map((language) => ({ value: language, label: languageName(language) })),
  ]
}

function voiceChoices(voices: readonly SpeechSynthesisVoice[], daemon: VoiceReply['speech'] | undefined): Choice[] {
  const names = daemon?.by ? [null, ...daemon.voices] : []
  return [
    { value: '', label: t.voice.firstOfflineVoice },
    ...names.map((name) => ({
      value: `daemon:${name ?? ''}`,
      label: t.voice.familiarName(name ?? daemon?.by ?? ''),
    })),
    ...voices.map(({ voiceURI, name, lang, localService }) => ({
      value: `browser:${voiceURI}`,
      label: `${name} (${lang})${localService ? '' : t.voice.sendsTextVendor}`,
    })),
  ]
}

function toVoice(value: string): VoiceSettings['voice'] {
  const [, by, name] = /^(browser|daemon):(.*)$/s.exec(value) ?? []
  if (by !== 'browser' && by !== 'daemon') return null
  return { by, name: name || null }
}

/** Asked once, before anything is heard. */
export function EarsChoice({ onChosen, onCancel }: { onChosen(): void; onCancel(): void }) {
  const [daemon, setDaemon] = useState<VoiceReply['transcription']>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    heading.current?.focus()
    daemonVoice().then(
      ({ transcription }) => setDaemon(transcription),
      () => undefined,
    )
  }, [])

  function choose(ears: 'browser' | 'daemon'): void {
    changeVoiceSettings({ ears })
    onChosen()
  }

  return (
    <div className="rounded-2xl border border-line bg-raised p-4 shadow-sm">
      <h2 ref={heading} tabIndex={-1} className="font-semibold outline-none">
        {t.voice.whichSpeechRecognition}
      </h2>
      <ul className="mt-2 space-y-1 text-sm text-soft">
        <li>
          <strong className="text-ink">{t.voice.browserLabel}</strong> {t.voice.fastNothingInstallSome}
        </li>
        <li>
          <strong className="text-ink">{t.voice.familiarLabel}</strong>{' '}
          {daemon?.by ? t.voice.speechSentFamiliarUses(daemon.by) : daemon?.hint}
        </li>
      </ul>
      <div className="mt-3 flex flex-wrap gap-2">
        {daemon?.by && (
          <Button kind="main" onClick={() => choose('daemon')}>
            {t.voice.useFamiliar}
          </Button>
        )}
        <Button onClick={() => choose('browser')}>{t.voice.useTheBrowser}</Button>
        <Button kind="quiet" onClick={onCancel}>
          {t.voice.notNow}
        </Button>
      </div>
      <p className="mt-2 text-xs text-soft">{t.voice.changeVoiceSettings}</p>
    </div>
  )
}

export function VoiceSettingsDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={t.voice.voice} description={t.voice.savedBrowser}>
      <VoiceSettingsForm />
    </Dialog>
  )
}
