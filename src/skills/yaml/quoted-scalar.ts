const escapes: Record<string, string> = {
  '0': '\0',
  a: '\u0007',
  b: '\b',
  e: '\u001b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  N: '\u0085',
  _: '\u00a0',
  L: '\u2028',
  P: '\u2029',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
}
const codeLengths: Record<string, number> = { x: 2, u: 4, U: 8 }
const lineBreak = /\n(?:[ \t]*\n)*[ \t]*/y
const spaces = /[ \t]+/y

/**
 * The quoted text that begins at `start`, over as many lines as it takes, and the place behind it. Undefined where it has
 * no end. An escape that means nothing stays as it is written: `"C:\Users"` is what somebody wrote.
 */
export function readQuoted(text: string, start: number): { value: string; end: number } | undefined {
  const quote = text[start]
  let value = ''
  let at = start + 1
  while (at < text.length) {
    const character = text[at] ?? ''
    if (character === quote) {
      if (quote === '"' || text[at + 1] !== "'") return { value, end: at + 1 }
      value += "'"
      at += 2
    } else if (character === ' ' || character === '\t') {
      const run = matchAt(spaces, text, at)
      at += run.length
      // Before the end of a line they are not seen, and mean nothing.
      if (text[at] !== '\n') value += run
    } else if (character === '\n') {
      const folded = matchAt(lineBreak, text, at)
      value += foldedBreak(folded)
      at += folded.length
    } else if (character === '\\' && quote === '"') {
      const read = readEscape(text, at)
      value += read.value
      at = read.end
    } else {
      value += character
      at += 1
    }
  }
  return undefined
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

/** One line end is a space; each empty line after it is a line end. */
function foldedBreak(written: string): string {
  const ends = written.split('\n').length - 1
  return ends === 1 ? ' ' : '\n'.repeat(ends - 1)
}

function readEscape(text: string, at: number): { value: string; end: number } {
  const letter = text[at + 1] ?? ''
  if (letter === '\n') {
    const joined = matchAt(lineBreak, text, at + 1)
    return { value: '\n'.repeat(joined.split('\n').length - 2), end: at + 1 + joined.length }
  }
  const length = codeLengths[letter]
  if (length !== undefined) {
    const digits = text.slice(at + 2, at + 2 + length)
    const code = digits.length === length && /^[0-9a-f]+$/i.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
    if (code <= 0x10ffff) return { value: String.fromCodePoint(code), end: at + 2 + length }
  }
  const known = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined
  return known === undefined ? { value: '\\', end: at + 1 } : { value: known, end: at + 2 }
}
