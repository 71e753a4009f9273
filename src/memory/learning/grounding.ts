import { contentWords } from '../content-words.ts'
import { splitPassages } from './split-passages.ts'
import { haveOneStem, tellingWords } from './word-overlap.ts'

/** What somebody said, as words that a claim can be held against. */
export interface Evidence {
  words: ReadonlySet<string>
  speaksOfTime: boolean
}

const readCharacters = 100_000
const wordsOfPassage = 400
const usualShare = 0.5
const isoDate = /\b\d{4}-\d{2}-\d{2}\b/g
const time =
  /\d|\b(?:today|tonight|tomorrow|yesterday|week|weekend|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december)\b/i

export function evidenceOf(texts: readonly string[]): Evidence {
  const words = new Set<string>()
  let left = readCharacters
  for (const text of texts) {
    const read = text.slice(0, left)
    left -= read.length
    for (const passage of splitPassages(read, 3_000)) {
      for (const word of contentWords(passage, wordsOfPassage)) words.add(word)
    }
  }
  return { words, speaksOfTime: texts.some((text) => time.test(text.slice(0, readCharacters))) }
}

/**
 * At least that share of what the claim says was said. It does not prove the claim; it makes sure that it was not made
 * up, nor taken from somewhere else. A date may be written otherwise than it was said.
 */
export function isGrounded(claim: string, evidence: Evidence, share = usualShare): boolean {
  const words = tellingWords(claim.replaceAll(isoDate, ' '))
  if (words.length === 0) return evidence.speaksOfTime && claim.search(isoDate) >= 0
  const found = words.filter((word) => occurs(word, evidence))
  return found.length >= words.length * share
}

function occurs(word: string, { words }: Evidence): boolean {
  if (words.has(word)) return true
  for (const said of words) if (haveOneStem(word, said)) return true
  return false
}
