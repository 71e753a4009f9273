import { bitOf, foldUnit, isAscii } from './fold-path.ts'

/** One word of a query: its characters in this order, with anything between them. */
export interface Term {
  /** Each character in the two forms that fit it; the same twice where case counts. */
  lower: Uint8Array
  upper: Uint8Array
  bits: number
  /** The bit of each character. */
  each: Uint32Array
  hasSlash: boolean
  /** The term itself, where its bytes alone do not tell; such matches are looked at twice. */
  exact: { text: string; isCaseSensitive: boolean } | undefined
}

const mostCharacters = 200

/** Words between spaces; all of them must match. Case counts in a word that has a capital letter in it. */
export function parseQuery(query: string): Term[] {
  return query.normalize('NFC').slice(0, mostCharacters).split(/\s+/).filter(Boolean).map(parseTerm)
}

function parseTerm(word: string): Term {
  const isCaseSensitive = word !== word.toLowerCase()
  const lower = new Uint8Array(word.length)
  const upper = new Uint8Array(word.length)
  const each = new Uint32Array(word.length)
  let bits = 0
  for (let at = 0; at < word.length; at += 1) {
    const byte = foldUnit(word, at)
    const isLower = byte >= 97 && byte <= 122
    lower[at] = byte
    upper[at] = isLower && !isCaseSensitive ? byte - 32 : byte
    each[at] = bitOf(byte)
    bits |= bitOf(byte)
  }
  const isShared = lower.some((byte) => byte >= 128)
  const exact = isShared && !isAscii(word) ? { text: word, isCaseSensitive } : undefined
  return { lower, upper, bits, each, hasSlash: word.includes('/'), exact }
}

/** Whether the characters of the term really occur in this order. */
export function isExactMatch({ exact }: Term, path: string): boolean {
  if (!exact) return true
  const text = exact.isCaseSensitive ? path : path.toLowerCase()
  let from = 0
  for (const character of exact.text) {
    const at = text.indexOf(character, from)
    // What has a plain form was matched by it.
    if (at < 0 && !isPlain(character)) return false
    if (at >= 0) from = at + 1
  }
  return true
}

function isPlain(character: string): boolean {
  return character.length === 1 && foldUnit(character, 0) < 128
}
