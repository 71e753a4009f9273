import { useSyncExternalStore } from 'react'

/** How this browser listens and speaks; kept in it. */
export interface VoiceSettings {
  /** Null until the user has chosen. */
  ears: 'browser' | 'daemon' | null
  /** A voice by name; null is the first that speaks without the network. */
  voice: { by: 'browser' | 'daemon'; name: string | null } | null
  rate: number
  /** Of what is spoken, where the browser listens. */
  language: string | null
  /** Speaking stops Familiar. Whoever has loud speakers beside the microphone may not want that. */
  isInterruptible: boolean
  /** What was asked by voice is answered aloud. */
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

/** Whatever stands there: another version may have written it. */
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
