/**
 * The word, and its sibling in `-ic` or `-y`: the stemmer of the text search takes "allergy" and "allergic" for two
 * words, and a question about allergies must find the allergic. Everything else is left to the stemmer.
 */
export function wordForms(word: string): string[] {
  if (word.length < 6) return [word]
  if (word.endsWith('ies')) return [word, `${word.slice(0, -3)}ic`]
  if (word.endsWith('y')) return [word, `${word.slice(0, -1)}ic`]
  if (word.endsWith('ic')) return [word, `${word.slice(0, -2)}y`]
  return [word]
}
