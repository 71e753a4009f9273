import { useSyncExternalStore } from 'react'
import type { VoiceReply } from '../../../src/protocol/channels.ts'
import { t } from '../strings/strings.ts'
import type { VoiceProblem } from './voice-problem.tsx'

/** How this browser listens and speaks; kept in it. */
export interface VoiceSettings {
  /** Null until the user has chosen. */
  ears: 'browser' | 'daemon' | null
  /** A voice by name; null is the first that speaks without the network. */
  voice: { by: 'browser' | 'daemon'; name: string | null } | null
  rate: number
  /** The spoken language, for the recognition of the browser. */
  language: string | null
  /** Speaking interrupts Familiar. Turn it off when the speakers are near the microphone. */
  isInterruptible: boolean
  /** Replies to spoken messages are read aloud. */
  isAnsweredAloud: boolean
}

export const usualVoiceSettings: VoiceSettings = {
  ears: null,
  voice: null,
  rate: 1,
  language: null,
  isInterruptible: true,
  isAnsweredAloud: true,
}

const key = 'familiar.voice'
const listeners = new Set<() => void>()
let current = readSettings(globalThis.localStorage?.getItem(key) ?? null)

/** The stored value may come from another version. */
export function readSettings(stored: string | null): VoiceSettings {
  try {
    const { ears, voice, rate, language, ...rest } = JSON.parse(stored ?? '{}') as Partial<VoiceSettings>
    return {
      ears: ears === 'browser' || ears === 'daemon' ? ears : null,
      voice:
        voice?.by === 'browser' || voice?.by === 'daemon'
          ? { by: voice.by, name: typeof voice.name === 'string' ? voice.name : null }
          : null,
      rate: typeof rate === 'number' && rate >= 0.5 && rate <= 2 ? rate : 1,
      language: typeof language === 'string' ? language : null,
      isInterruptible: rest.isInterruptible !== false,
      isAnsweredAloud: rest.isAnsweredAloud !== false,
    }
  } catch {
    return usualVoiceSettings
  }
}

export const voiceSettings = () => current

export function changeVoiceSettings(change: Partial<VoiceSettings>): void {
  current = { ...current, ...change }
  localStorage.setItem(key, JSON.stringify(current))
  for (const listener of listeners) listener()
}

export function useVoiceSettings(): VoiceSettings {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, voiceSettings)
}

type Chosen<T> = { ok: true; chosen: T } | { ok: false; problem: VoiceProblem }

/**
 * The recognition to use. The browser's own is used only after the user was warned that some browsers send the sound to their
 * maker; otherwise the daemon's.
 */
export function chooseEars(
  { ears }: Pick<VoiceSettings, 'ears'>,
  { hasRecognizer, daemon }: { hasRecognizer: boolean; daemon: VoiceReply['transcription'] },
): Chosen<'browser' | 'daemon'> {
  if (ears === 'browser' && hasRecognizer) return { ok: true, chosen: 'browser' }
  if (ears === null && hasRecognizer) return { ok: false, problem: { kind: 'choose', detail: '' } }
  if (daemon.by !== null) return { ok: true, chosen: 'daemon' }
  return { ok: false, problem: { kind: 'unable', detail: daemon.hint ?? t.voice.noSpeechRecognitionAvailable } }
}

interface KnownVoice {
  voiceURI: string
  localService: boolean
  lang: string
}

/**
 * The voice to use: the chosen one if it exists; else one of the browser that needs no network; else the daemon's. A voice that
 * sends the text to its maker is never used without a choice.
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
  const local = spoken ? here.find(({ lang }) => lang.slice(0, 2).toLowerCase() === spoken) : here[0]
  if (local) return { ok: true, chosen: { by: 'browser', voice: local } }
  // The daemon has voices for most languages; a voice of another language is hard to understand.
  if (daemon.by !== null) return { ok: true, chosen: { by: 'daemon', name: null } }
  const [other] = here
  if (other) return { ok: true, chosen: { by: 'browser', voice: other } }
  return { ok: false, problem: { kind: 'unable', detail: daemon.hint ?? t.voice.noTextSpeechAvailable } }
}
