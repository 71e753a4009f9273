import type { ToolOutcome } from '../../tool.ts'

export interface Recording {
  data: Uint8Array
  mediaType: string
  /** The ending of a file's name. */
  extension: string
}

/** A recording, or what to answer in its place. */
export type Spoken = { ok: true; recording: Recording } | { ok: false; outcome: ToolOutcome }

export interface SpeechRequest {
  text: string
  voice: string | null
  signal: AbortSignal
}
