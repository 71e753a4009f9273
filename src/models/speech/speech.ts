import { causesOf } from '../../base/text.ts'
import { EgressError } from '../../security/network/destinations.ts'
import type { ChildAnswer, VoiceWork } from './local-voice.ts'

/**
 * `seconds` is the measured length of the recording, `language` the code of the detected language ("de"), `text` is empty
 * without speech. `fault` is set if an external service caused the failure, not the
 * recording.
 */
export type Transcription =
  | { ok: true; text: string; by: string; seconds?: number; language?: string }
  | { ok: false; reason: string; fault?: 'service' }

/**
 * Processes one request. `onProgress` is called after every part: a silent process is considered dead. After `isCanceled`
 * the rest is skipped: any answer will do.
 */
export type ChildWork = (
  asked: VoiceWork,
  running: { onProgress(): void; isCanceled(): boolean },
) => Promise<ChildAnswer>

/** Why a guarded fetch failed, for the user. Rethrows an abort. */
export function fetchProblem(
  error: unknown,
  { host, signal }: { host: string; signal: AbortSignal },
): { reason: string; fault: 'service' | 'timeout' | null } {
  signal.throwIfAborted()
  if (!(error instanceof EgressError)) {
    return { reason: `${host} could not be reached (${codeOf(error)}).`, fault: 'service' }
  }
  if (error.code !== 'timeout') return { reason: `${error.message}.`, fault: null }
  return { reason: `${host} did not answer in time.`, fault: 'timeout' }
}

/** `fetch` reports only that it failed; its cause has the reason. */
function codeOf(error: unknown): string {
  for (const cause of causesOf(error)) if ('code' in cause && typeof cause.code === 'string') return cause.code
  return error instanceof Error ? error.name : 'unknown'
}

export interface SpeechSettings {
  provider: 'system' | 'local' | 'elevenlabs' | 'off'
  apiKey: string | null
  voice: string | null
}

export interface SpeechRequest {
  text: string
  /** One of the provider's voices; null for its default. */
  voice: string | null
  /** The language of the conversation ("de"), for texts that are too short to show theirs. */
  language?: string | null
  signal: AbortSignal
}

/**
 * A recording, or why there is none. `notice` is for the user: another voice had to be used. `fault` is `service` if an external service failed or timed
 * out.
 */
export type Spoken =
  | { ok: true; recording: { data: Uint8Array; mediaType: string; extension: string }; by: string; notice?: string }
  | { ok: false; reason: string; fault: 'service' | 'timeout' | null }

export function unspoken(reason: string, fault: 'service' | 'timeout' | null = null): Spoken {
  return { ok: false, reason, fault }
}

/** The code without the country: "de" of "de-AT". Null for anything else. */
export function languageCode(tag: string | null | undefined): string | null {
  return /^([a-z]{2,3})(?:[-_+].*)?$/i.exec(tag?.trim() ?? '')?.[1]?.toLowerCase() ?? null
}

/** For display: "German" for "de". */
export function languageName(code: string): string {
  try {
    return new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code
  } catch {
    return code
  }
}
