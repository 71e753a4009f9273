export interface SpeechSettings {
  provider: 'system' | 'local' | 'elevenlabs' | 'off'
  apiKey: string | null
  voice: string | null
}

interface SpokenRecording {
  data: Uint8Array
  mediaType: string
  /** The ending of a file's name. */
  extension: string
}

export interface SpeechRequest {
  text: string
  /** One that the provider knows; its usual one where it is null. */
  voice: string | null
  signal: AbortSignal
}

/** A recording, or why there is none. `fault` is `service` where a service of others failed, or did not answer in time. */
export type Spoken =
  | { ok: true; recording: SpokenRecording; by: string }
  | { ok: false; reason: string; fault: 'service' | 'timeout' | null }

/** Says a text aloud. */
export interface Speaker {
  /** Who would do it; null where nobody can, with what to do about it. */
  status(): Promise<{ by: string; voices: readonly string[] } | { by: null; hint: string }>
  /** The origin that texts are sent to; null where they stay on this machine. */
  destination(): string | null
  /** Where `voice` is null, that of the settings. Throws only the signal's reason. */
  speak(request: SpeechRequest): Promise<Spoken>
}

export function unspoken(reason: string, fault: 'service' | 'timeout' | null = null): Spoken {
  return { ok: false, reason, fault }
}
