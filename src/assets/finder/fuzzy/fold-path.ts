/**
 * A path as bytes to search in, one for each UTF-16 unit of it: ASCII as it is, letters with marks as the letter alone,
 * and every other unit as one of 128 that it shares with others. Whoever searches for such a one must look twice.
 */
export function foldUnit(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code < 128) return code
  const base = plainLetters.get(code) ?? plainLetter(code)
  return base ?? 128 + (code % 128)
}

export function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

const plainLetters = new Map<number, number | undefined>()

function plainLetter(code: number): number | undefined {
  // Latin, and Latin Extended Additional: no other letter comes apart into one of ASCII.
  if (code > 0x24f && (code < 0x1e00 || code > 0x1eff)) return undefined
  const first = String.fromCharCode(code).normalize('NFD').charCodeAt(0)
  const base = first < 128 ? first : undefined
  plainLetters.set(code, base)
  return base
}

const signBits: Readonly<Record<number, number>> = { 45: 27, 46: 28, 95: 29 }

/** Which kinds of characters occur, as 31 bits: a path that lacks one of the query's cannot match it. */
export function bitOf(byte: number): number {
  const lower = byte >= 65 && byte <= 90 ? byte + 32 : byte
  if (lower >= 97 && lower <= 122) return 1 << (lower - 97)
  if (lower >= 48 && lower <= 57) return 1 << 26
  return 1 << (signBits[lower] ?? 30)
}
