import { type AssetFailure, failure } from './asset-failure.ts'

/** Bytes as text that gives the same bytes again, so that an edit changes nothing else; what is no such text is binary. */
export function decodeAsset(bytes: Uint8Array, path: string): { ok: true; content: string } | AssetFailure {
  try {
    const content = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (!content.includes('\u0000')) return { ok: true, content }
  } catch {
    // Told below: which of its bytes is none of UTF-8 matters to nobody.
  }
  return failure('binary', `${path} is no text in UTF-8.`)
}
