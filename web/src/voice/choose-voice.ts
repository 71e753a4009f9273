import type { VoiceReply } from '../../../src/protocol/voice-api.ts'
import type { VoiceProblem } from './voice-problem.ts'
import type { VoiceSettings } from './voice-settings.ts'

type Chosen<T> = { ok: true; chosen: T } | { ok: false; problem: VoiceProblem }

/**
 * Who understands. The browser's own recognition is used only by somebody who was told that some browsers send the sound to their
 * maker; where it is missing, or was not chosen, the daemon's.
 */
export function chooseEars(
  { ears }: Pick<VoiceSettings, 'ears'>,
  { hasRecogniser, daemon }: { hasRecogniser: boolean; daemon: VoiceReply['transcription'] },
): Chosen<'browser' | 'daemon'> {
  if (ears === 'browser' && hasRecogniser) return { ok: true, chosen: 'browser' }
  if (ears === null && hasRecogniser) return { ok: false, problem: { kind: 'choose', detail: '' } }
  if (daemon.by !== null) return { ok: true, chosen: 'daemon' }
  return { ok: false, problem: { kind: 'unable', detail: daemon.hint ?? 'Nobody here can understand speech.' } }
}

interface KnownVoice {
  voiceURI: string
  localService: boolean
  lang: string
}

/**
 * Who speaks: the voice that was chosen, as long as it is there; else one of the browser's that needs no network; else the
 * daemon's. A voice that sends the text to its maker is never taken unasked.
 */
export function chooseVoice<T extends KnownVoice>(
  { voice, language }: Pick<VoiceSettings, 'voice' | 'language'>,
  { voices, daemon }: { voices: readonly T[]; daemon: VoiceReply['speech'] },
): Chosen<{ by: 'browser'; voice: T } | { by: 'daemon'; name: string | null }> {
  const named = voice?.by === 'browser' ? voices.find(({ voiceURI }) => voiceURI === voice.name) : undefined
  if (named) return { ok: true, chosen: { by: 'browser', voice: named } }
  if (voice?.by === 'daemon' && daemon.by !== null) {
    const isKnown = voice.name !== null && daemon.voices.includes(voice.name)
    return { ok: true, chosen: { by: 'daemon', name: isKnown ? voice.name : null } }
  }
  const here = voices.filter(({ localService }) => localService)
  const spoken = language?.slice(0, 2).toLowerCase()
  const local = here.find(({ lang }) => lang.slice(0, 2).toLowerCase() === spoken) ?? here[0]
  if (local) return { ok: true, chosen: { by: 'browser', voice: local } }
  if (daemon.by !== null) return { ok: true, chosen: { by: 'daemon', name: null } }
  return { ok: false, problem: { kind: 'unable', detail: daemon.hint ?? 'There is no voice here.' } }
}
