import { cutText, oneLine, toDisplayText } from '../../base/text.ts'

// Tag characters and variation selectors: invisible to people, but readable for a model.
const invisible = /[\u{e0000}-\u{e01ef}]/gu

/** Untrusted text, without anything that could control a terminal or hide words from the user. */
export function cleanForeignText(text: string): string {
  return toDisplayText(text.toWellFormed()).replace(invisible, '')
}

/** The same in one line, at most `limit` characters. */
export function foreignLine(text: string, limit: number): string {
  const line = oneLine(cleanForeignText(text))
  return line.length <= limit ? line : `${cutText(line, limit)} …`
}

/** One page of a long text from `offset` on, with a note about the rest. */
export function pageOf(text: string, offset: number, limit: number): string {
  const end = offset + limit
  const page = text.slice(offset, end).toWellFormed()
  return end >= text.length ? page : `${page}\n[${text.length - end} more characters: offset ${end}]`
}

// The few control characters of text files: tab, line ends, form feed, escape.
const usualControls = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x1b])
/** Above this share of control characters it is not text. */
const maxControls = 0.01
/** Above this share of bytes beyond ASCII it is not single-byte Western text. */
const maxHighBytes = 0.4

export function detectText(bytes: Uint8Array): string | undefined {
  const encoding = markOf(bytes) ?? wideEncodingOf(bytes)
  if (encoding !== undefined) return plausible(decodeAs(encoding, bytes, true))
  if (bytes.includes(0)) return undefined
  const text = decodeAs('utf-8', bytes, true)
  if (text !== undefined) return plausible(text)
  const high = bytes.reduce((sum, byte) => sum + (byte > 0x7f ? 1 : 0), 0)
  return high / bytes.length > maxHighBytes ? undefined : plausible(decodeAs('windows-1252', bytes, true))
}

function plausible(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  let controls = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if ((code < 0x20 && !usualControls.has(code)) || code === 0x7f) controls += 1
  }
  return controls > text.length * maxControls ? undefined : text
}

/** Undefined for an unknown encoding, and with `fatal` for bytes that do not have it. */
function decodeAs(encoding: string, bytes: Uint8Array, fatal = false): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal }).decode(bytes)
  } catch {
    return undefined
  }
}

/** UTF-16 without a mark: in most scripts with spaces, many of every second bytes are zero. */
function wideEncodingOf(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes.length < 4 || bytes.length % 2 === 1) return undefined
  const sample = bytes.subarray(0, 4_096)
  let even = 0
  let odd = 0
  for (const [index, byte] of sample.entries()) {
    if (byte !== 0) continue
    if (index % 2 === 0) even += 1
    else odd += 1
  }
  const many = sample.length * 0.2
  if (odd > many && even === 0) return 'utf-16le'
  return even > many && odd === 0 ? 'utf-16be' : undefined
}

const prescanBytes = 2_048

/** Decodes by the byte order mark, by the header, by the page's declaration, or by appearance. */
export function decodeResponse(bytes: Uint8Array, contentType: string): string {
  const declared = markOf(bytes) ?? charsetIn(contentType) ?? declaredIn(bytes)
  const decoded = declared === undefined ? undefined : decodeAs(declared, bytes)
  return decoded ?? decodeAs('utf-8', bytes, true) ?? new TextDecoder('windows-1252').decode(bytes)
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
  // A declaration that could be read as single bytes cannot be UTF-16.
  return named?.startsWith('utf-16') ? 'utf-8' : named
}

function charsetIn(text: string): string | undefined {
  return /(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(text)?.[1]?.toLowerCase()
}

export type DocumentKind = 'html' | 'pdf' | 'text' | 'office'

const unsaid = ['', 'application/octet-stream', 'binary/octet-stream', 'application/x-download', 'application/download']
const officeTypes = /officedocument|opendocument/
const texts = /^text\/|^application\/(.+\+)?(json|xml|yaml|x-yaml|toml|javascript|x-javascript|x-ndjson|sql|rtf)$/

/** How to read it; undefined if it is not text. If the server does not say, the first bytes decide. */
export function documentKind(mediaType: string, bytes: Uint8Array): DocumentKind | undefined {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 1_024))
  if (start.startsWith('%PDF-') || mediaType === 'application/pdf') return 'pdf'
  if (start.startsWith('PK\x03\x04') && officeTypes.test(mediaType)) return 'office'
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml') return 'html'
  if (texts.test(mediaType)) return 'text'
  if (!unsaid.includes(mediaType) || start.includes('\u0000')) return undefined
  return /^\s*<(!doctype html|html)/i.test(start) ? 'html' : 'text'
}
