import { toDisplayText } from '../../../base/text.ts'
import type { Redactor } from '../../../secrets/redactor.ts'

const keptCharacters = 64 * 1024
/** A secret of the greatest length, written in its longest usual form. */
const longestSecret = 192 * 1024
const mostErrorLines = 15
const mostErrorCharacters = 4_000

/**
 * The end of what was printed, without secrets and what drives a terminal. Of megabytes only the end is looked at, and the
 * beginning of that is dropped unseen: it may be the second half of a secret, which nobody would know.
 */
export function cleanLog(printed: readonly Uint8Array[], redact: Redactor['redact']): string {
  return keepEnd(printed.map((bytes) => cleanEnd(bytes, redact)).join(''))
}

/** The last lines of a traceback: its reason stands there. Cut after secrets are out, since one may have lines of its own. */
export function cleanError(detail: string, redact: Redactor['redact']): string {
  const lines = cleanText(detail, redact).trimEnd().split('\n')
  const kept = lines.length > mostErrorLines ? ['…', ...lines.slice(-mostErrorLines)] : lines
  const text = kept.join('\n')
  return text.length > mostErrorCharacters ? `…${text.slice(-mostErrorCharacters).toWellFormed()}` : text
}

function cleanEnd(bytes: Uint8Array, redact: Redactor['redact']): string {
  const most = keptCharacters + longestSecret
  const cleaned = cleanText(new TextDecoder().decode(bytes.subarray(-most)), redact)
  return bytes.length > most ? cleaned.slice(longestSecret) : cleaned
}

/** Twice: a secret may have been spelled with something unseen in its middle. */
function cleanText(text: string, redact: Redactor['redact']): string {
  return redact(toDisplayText(redact(text)))
}

function keepEnd(text: string): string {
  return text.length > keptCharacters ? `…${text.slice(-keptCharacters).toWellFormed()}` : text
}
