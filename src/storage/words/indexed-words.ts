import { sha256 } from '../../base/hash.ts'
import { toTokens } from './text-tokens.ts'

// More would not fit an entry of an index. No word has a sign like this in it.
const longestWord = 200
const hashMark = '#'

export interface IndexedWords {
  /** Each once. Two that belong together stand there as a pair too. */
  words: string[]
  /** How many the text has, each as often as it stands there. */
  length: number
}

/** What an index without phrases holds of a text, so that a pair of letters can be told from two letters far apart. */
export function toIndexedWords(text: string): IndexedWords {
  const { tokens, isPiece } = toTokens(text)
  const words = new Set(tokens.map(shorten))
  for (let at = 1; at < tokens.length; at += 1) {
    if (isPiece[at - 1] && isPiece[at]) words.add(pairOf(tokens[at - 1], tokens[at]))
  }
  return { words: [...words], length: tokens.length }
}

/** What of an index's words a text must hold to hold the searched word: itself, or every pair of its pieces. */
export function toSoughtWords(word: string): string[] {
  const { tokens } = toTokens(word)
  if (tokens.length < 2) return tokens.map(shorten)
  return tokens.slice(1).map((token, before) => pairOf(tokens[before], token))
}

function pairOf(first = '', second = ''): string {
  return shorten(`${first} ${second}`)
}

function shorten(word: string): string {
  return word.length > longestWord ? hashMark + sha256(word) : word
}
