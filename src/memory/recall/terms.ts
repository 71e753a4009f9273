import { allContentWords } from '../content-words.ts'
import { baseForm } from './irregular-words.ts'
import { stem } from './stem.ts'

const readCharacters = 2_000

/** What a text is about, for comparing with another text: stems of its content words, in order, repetitions included. */
export function termsOf(text: string): string[] {
  return allContentWords(text.slice(0, readCharacters)).map(termOf)
}

/** One form for all forms of a lower-case word. The stemmer takes "allergy" and "allergic" for two words. */
export function termOf(word: string): string {
  const base = baseForm(word)
  return stem(base.length >= 6 && base.endsWith('ic') ? `${base.slice(0, -2)}y` : base)
}
