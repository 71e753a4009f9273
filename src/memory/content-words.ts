// What carries no meaning of its own in an English question. Leaving these words in costs recall and five times the time.
const stopWords = new Set(
  `a about above after again all also am an and any are aren as at be because been before being below between both but by
  can could couldn did didn do does doesn doing don down during each few for from further had hadn has hasn have haven
  having he her here hers herself him himself his how i if in into is isn it its itself just know let many me more most much my
  myself no nor not now of off on once only or other our ours out over own please remember same she should shouldn so some
  such tell than that the their theirs them then there these they this those through to told too under until up us very
  was wasn we were weren what when where which while who whom whose why will with would wouldn you your yours yourself`
    .split(/\s+/)
    .filter(Boolean),
)

// A question is short. Whatever is longer is cut, so that a megabyte of text cannot become a hundred thousand terms.
const readCharacters = 4_000
const contraction = /['’](?:s|t|re|ve|ll|d|m)\b/gi
const word = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/** The words of a text that say what it is about: lower case, each once, stop words out, in order, at most `limit`. */
export function contentWords(text: string, limit = 32): string[] {
  return [...new Set(allContentWords(text.slice(0, readCharacters)))].slice(0, limit)
}

/** The same with repetitions, and of the whole text. */
export function allContentWords(text: string): string[] {
  const words = text.replace(contraction, '').match(word) ?? []
  return words.map((found) => found.toLowerCase()).filter((found) => !stopWords.has(found))
}
