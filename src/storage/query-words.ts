import { toSearchable } from './unspaced-scripts.ts'

const wordLimit = 32

// The words that nearly every English sentence holds; they would make every note a match.
const stopWords = new Set(
  `a about after again all am an and any are as at be because been before being but by can could d did do does doing
  don down during each few for from further had has have having he her here hers him his how i if in into is it its
  just ll m me more most my no nor not now of off on once only or other our out over own re s same she should so some
  such t than that the their them then there these they this those through to too under until up ve very was we were
  what when where which while who whom why will with would you your yours`.split(/\s+/),
)

/**
 * The words of any text a person may type, for searching: letters and digits only, lower-case, each once, English stop
 * words left out unless there is nothing else. Where a script does not set words apart, pairs of letters.
 */
export function toQueryWords(text: string): string[] {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu))
  const telling = [...words].filter((word) => !stopWords.has(word))
  const searched = (telling.length > 0 ? telling : [...words]).slice(0, wordLimit).flatMap(toSearchable)
  return [...new Set(searched)].slice(0, wordLimit)
}
