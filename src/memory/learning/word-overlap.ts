import { contentWords } from '../content-words.ts'
import { termOf } from '../recall/terms.ts'

const mostWords = 64
const sameShare = 0.85
// Who is spoken of goes without saying.
const neutral = new Set(['user', 'users'])
const negation = /\b(?:not|no|never|nor|neither|cannot|without)\b|n['’]t\b/i

/** The words of a statement that say something, without the one that stands for the user. */
export function tellingWords(text: string): string[] {
  return contentWords(text, mostWords).filter((word) => !neutral.has(word))
}

/**
 * Two statements that tell the same in nearly the same words. A negation, a number or a name that only one of them holds
 * makes them two: losing what differs there would be losing the point.
 */
export function saysTheSame(a: string, b: string): boolean {
  const [first, second] = [stemsOf(a), stemsOf(b)]
  if (first.size === 0 || second.size === 0) return a.trim() === b.trim()
  if (negation.test(a) !== negation.test(b)) return false
  const onlyFirst = [...first.keys()].filter((stem) => !second.has(stem))
  const onlySecond = [...second.keys()].filter((stem) => !first.has(stem))
  const most = Math.max(first.size, second.size)
  if (first.size - onlyFirst.length < sameShare * most) return false
  return ![...onlyFirst.map((stem) => first.get(stem)), ...onlySecond.map((stem) => second.get(stem))].some(
    (word) => word !== undefined && (isNumber(word) || isName(word, a) || isName(word, b)),
  )
}

/** Forms of one word: "allergic" and "allergy", "went" and "go". */
export function haveOneStem(a: string, b: string): boolean {
  return termOf(a) === termOf(b)
}

/** Each stem with the word that it was taken from. */
function stemsOf(text: string): Map<string, string> {
  return new Map(tellingWords(text).map((word) => [termOf(word), word]))
}

function isNumber(word: string): boolean {
  return /\p{N}/u.test(word)
}

function isName(word: string, text: string): boolean {
  const capitalised = word.charAt(0).toUpperCase() + word.slice(1)
  return capitalised !== word && text.includes(capitalised)
}
