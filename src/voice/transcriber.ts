/**
 * `seconds` is how long the recording is, where that was measured. `fault` is there where not the recording but a service
 * of others is the reason.
 */
export type Transcription =
  | { ok: true; text: string; by: string; seconds?: number }
  | { ok: false; reason: string; fault?: 'service' }

/** Writes down what is said in a recording. */
export interface Transcriber {
  /** Who would do it; null where nobody can, with what to do about it. */
  status(): { by: string } | { by: null; hint: string }
  /** Never throws for what a recording holds: one that cannot be read, or is too long, is told. */
  transcribe(recording: { data: Uint8Array; mediaType: string; signal: AbortSignal }): Promise<Transcription>
  /** Lets go of the model. */
  close(): Promise<void>
}
