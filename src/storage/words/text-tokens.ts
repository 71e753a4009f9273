import { spaceOut } from '../unspaced-scripts.ts'
import { porterStem } from './porter-stem.ts'

// What FTS5's unicode61 takes for parts of words, and the accents that it passes over inside of them.
const accent = /[\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331]/u
const token = new RegExp(`[\\p{L}\\p{N}\\p{Co}](?:[\\p{L}\\p{N}\\p{Co}]|${accent.source})*`, 'gu')
const run = /[\p{L}\p{N}\p{Co}\p{M}]+/gu

export interface TextTokens {
  /** Every token of the text in its order, as stems without accents. */
  tokens: string[]
  /** True for each one that its neighbour may belong to: letters of unspaced scripts, and pieces of words that marks part. */
  isPiece: boolean[]
}

/**
 * The words of a text as SQLite's index has them, with `tokenize = 'porter unicode61 remove_diacritics 2'` and the letters
 * of unspaced scripts set apart.
 */
export function toTokens(text: string): TextTokens {
  const tokens: string[] = []
  const isPiece: boolean[] = []
  for (const [word] of text.matchAll(run)) {
    const found = spaceOut(word).match(token) ?? []
    for (const piece of found) {
      tokens.push(porterStem(foldToken(piece)))
      isPiece.push(found.length > 1 || isUnspacedLetter(piece, word))
    }
  }
  return { tokens, isPiece }
}

function isUnspacedLetter(piece: string, word: string): boolean {
  return piece.length === word.length && spaceOut(word) !== word
}

const known = new Map<string, string>()

function foldToken(piece: string): string {
  if (/^[a-z0-9]*$/.test(piece)) return piece
  let folded = ''
  for (const letter of piece) folded += foldLetter(letter)
  return folded
}

/** In lower case, without an accent where a plain Latin letter carries it. */
function foldLetter(letter: string): string {
  const before = known.get(letter)
  if (before !== undefined) return before
  const folded = accent.test(letter) ? '' : withoutAccent(toLowerLetter(letter))
  known.set(letter, folded)
  return folded
}

/** One letter for one letter. By way of the upper case, where a sigma at the end of a word is a sigma like any other. */
function toLowerLetter(letter: string): string {
  const upper = letter.toUpperCase()
  const lower = (upper.length === letter.length && letter !== 'ı' ? upper : letter).toLowerCase()
  return lower.length === letter.length ? lower : letter
}

function withoutAccent(letter: string): string {
  const [base = '', ...marks] = letter.normalize('NFD')
  return /^[a-z]$/i.test(base) && marks.every((mark) => /^\p{Mn}$/u.test(mark)) ? base.toLowerCase() : letter
}
