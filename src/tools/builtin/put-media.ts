import type { MediaPart } from '../../protocol/message.ts'

/** Stores a file that came out of a tool, once under its content's hash. */
export type PutMedia = (file: { name: string; mediaType: string; data: Uint8Array }) => Promise<MediaPart>
