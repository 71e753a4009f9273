export type DecodedText = { ok: true; text: string } | { ok: false; reason: 'binary' }

/**
 * The bytes of a file as text, without its byte order mark. Bytes that are no UTF-8 become U+FFFD: an old text with a few
 * foreign letters is worth reading. A NUL is in no text.
 */
export function decodeText(bytes: Uint8Array): DecodedText {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes)
  return text.includes('\u0000') ? { ok: false, reason: 'binary' } : { ok: true, text }
}

function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return 'utf-8'
}
