import { contentWords } from './content-words.ts'
import { splitPassages } from './learning/split-passages.ts'
import { haveOneStem } from './learning/word-overlap.ts'

const readCharacters = 200_000
const wordsOfPassage = 400
/** What the notes about the rest take. */
const noteCharacters = 40
const shortest = 40

/** A text within `limit` characters: whole, or the passage of it that holds most words of `about`, saying what is left out. */
export function bestPassage(text: string, about: string, limit: number): string {
  if (text.length <= limit) return text
  const words = contentWords(about)
  const passages = splitPassages(text.slice(0, readCharacters), Math.max(shortest, limit - noteCharacters))
  let best = { passage: passages[0] ?? '', isFirst: true, count: countWords(passages[0] ?? '', words) }
  for (const passage of passages.slice(1)) {
    const count = countWords(passage, words)
    if (count > best.count) best = { passage, isFirst: false, count }
  }
  const passage = best.passage.toWellFormed()
  return `${best.isFirst ? '' : '[…] '}${passage}\n[… ${text.length - best.passage.length} more characters]`
}

/** How many of the words the text holds, in whatever form. */
export function countWords(text: string, words: readonly string[]): number {
  if (words.length === 0) return 0
  const known = contentWords(text, wordsOfPassage)
  return words.filter((word) => known.some((other) => haveOneStem(word, other))).length
}
