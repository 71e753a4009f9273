const wordCharacter = /[\p{L}\p{N}\p{M}'’_]/u
const space = /\s/

/** What follows the first of the phrases that the text begins with; undefined where it begins with none. */
export function afterPhrase(text: string, phrases: readonly string[]): string | undefined {
  for (const phrase of phrases) {
    const end = endOfPhrase(text, phrase)
    if (end !== undefined) return withoutLeadingMarks(text.slice(end))
  }
  return undefined
}

/** The text is one of the phrases and nothing else but marks. */
export function isPhrase(text: string, phrases: readonly string[]): boolean {
  return phrases.some((phrase) => {
    const end = endOfPhrase(text, phrase)
    // Marks after a phrase are few: a long rest is more than marks.
    return end !== undefined && text.length - end < 16 && !hasWords(text.slice(end))
  })
}

/** There is a letter or a digit in it, of whatever script. */
export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text)
}

/** Phrases are lower case, one space between words, straight apostrophes. A phrase ends where a word ends. */
function endOfPhrase(text: string, phrase: string): number | undefined {
  let at = 0
  for (const expected of phrase) {
    const actual = text[at]
    if (actual === undefined) return undefined
    if (expected === ' ') {
      if (!space.test(actual)) return undefined
      while (space.test(text[at] ?? '')) at += 1
    } else {
      if (actual.toLowerCase() !== expected && !(expected === "'" && actual === '’')) return undefined
      at += 1
    }
  }
  return wordCharacter.test(text[at] ?? '') ? undefined : at
}

function withoutLeadingMarks(text: string): string {
  return text.replace(/^[\s,:;]+/, '')
}
