import { contentWords } from '../content-words.ts'

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

/** Close enough to be one word: a long beginning in common, short ends apart ("allergic", "allergy"). */
export function haveOneStem(a: string, b: string): boolean {
  if (a === b) return true
  const [shorter, longer] = a.length < b.length ? [a, b] : [b, a]
  let common = 0
  while (common < shorter.length && shorter[common] === longer[common]) common += 1
  if (longer.length - common > 3) return false
  return common >= 4 || (common >= 3 && common === shorter.length && longer.length - common === 1)
}

/** Each stem with the word that it was taken from. */
function stemsOf(text: string): Map<string, string> {
  return new Map(tellingWords(text).map((word) => [stemOf(word), word]))
}

function stemOf(word: string): string {
  if (word.length < 5) return word.length === 4 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
  for (const [ending, instead] of endings) {
    if (word.endsWith(ending)) return word.slice(0, -ending.length) + instead
  }
  return word
}

const endings: readonly [string, string][] = [
  ['ies', 'y'],
  ['ing', ''],
  ['ed', ''],
  ['ss', 'ss'],
  ['es', ''],
  ['s', ''],
  ['e', ''],
]

function isNumber(word: string): boolean {
  return /\p{N}/u.test(word)
}

function isName(word: string, text: string): boolean {
  const capitalised = word.charAt(0).toUpperCase() + word.slice(1)
  return capitalised !== word && text.includes(capitalised)
}
