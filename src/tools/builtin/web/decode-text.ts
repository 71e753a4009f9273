/** How far into a page its own word for its encoding is looked for. */
const prescanBytes = 2_048

/** Bytes to text: by the mark at their beginning, by the header, by what the page says of itself, or as they look. */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const declared = markOf(bytes) ?? charsetIn(contentType) ?? declaredIn(bytes)
  return decoderFor(declared)?.decode(bytes) ?? decodeUndeclared(bytes)
}

function markOf(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

function declaredIn(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, prescanBytes))
  const tag = /<meta\s[^<>]{0,200}?charset[^<>]{0,100}>|<\?xml[^<>]{0,100}encoding[^<>]{0,60}>/i.exec(start)?.[0] ?? ''
  const named = charsetIn(tag)
  // What could be read as single bytes is not in two.
  return named?.startsWith('utf-16') ? 'utf-8' : named
}

function charsetIn(text: string): string | undefined {
  return /(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(text)?.[1]?.toLowerCase()
}

function decoderFor(charset: string | undefined): InstanceType<typeof TextDecoder> | undefined {
  if (charset === undefined) return undefined
  try {
    return new TextDecoder(charset)
  } catch {
    // A name that nobody knows.
    return undefined
  }
}

function decodeUndeclared(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
