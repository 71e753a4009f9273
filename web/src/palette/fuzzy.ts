interface Match {
  /** The more, the better. */
  score: number
  /** The characters that fit, in order. */
  places: number[]
}

const wordStart = /[\p{L}\p{N}]/u

/**
 * Whether all characters of the query stand in the text in their order. Words between spaces are looked for each by itself, so
 * that their order does not matter. Beginnings of words and neighbours count for more.
 */
export function fuzzyMatch(query: string, text: string): Match | undefined {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = words.map((word) => matchWord(word, text.toLowerCase()))
  if (!found.every((match) => match !== undefined)) return undefined
  return {
    score: found.reduce((sum, { score }) => sum + score, 0) - text.length / 100,
    places: [...new Set(found.flatMap(({ places }) => places))].sort((a, b) => a - b),
  }
}

function matchWord(word: string, text: string): Match | undefined {
  const whole = wholeWord(word, text)
  if (whole !== undefined) {
    const places = Array.from({ length: word.length }, (_, index) => whole + index)
    return { score: word.length * 3 + (isStart(text, whole) ? 5 : 0) + (whole === 0 ? 3 : 0), places }
  }
  // In pieces it has to begin where a word does: otherwise nearly everything fits.
  const [first = ''] = word
  for (let start = text.indexOf(first); start !== -1; start = text.indexOf(first, start + 1)) {
    const match = isStart(text, start) ? matchPieces(word, text, start) : undefined
    if (match) return match
  }
  return undefined
}

function matchPieces(word: string, text: string, start: number): Match | undefined {
  const places: number[] = []
  let score = 0
  let from = start
  for (const character of word) {
    const at = text.indexOf(character, from)
    if (at === -1) return undefined
    score += at === from && places.length > 0 ? 2 : isStart(text, at) ? 1.5 : 0.5
    places.push(at)
    from = at + 1
  }
  return { score, places }
}

/** Where it stands in one piece, best at the beginning of a word. */
function wholeWord(word: string, text: string): number | undefined {
  let first: number | undefined
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (isStart(text, at)) return at
    first ??= at
  }
  return first
}

function isStart(text: string, at: number): boolean {
  return at === 0 || !wordStart.test(text[at - 1] ?? '')
}
