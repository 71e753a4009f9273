import { createBestSlots } from '../vectors/best-slots.ts'
import { wordWeight } from '../words/word-weight.ts'

/** In which texts a word stands. */
export interface WordPlaces {
  /** Numbers of texts, from 1. */
  places: Int32Array
  /** True where only the newest texts were looked at, and older ones hold the word too. */
  isCut: boolean
}

/**
 * The texts that hold most of what tells texts apart, best first, among equals the newer ones. A word counts by how few
 * texts hold it, and once for a text: in texts as short as memories it seldom stands twice.
 */
export function rankByWords(
  words: readonly WordPlaces[],
  { texts, limit }: { texts: number; limit: number },
): { place: number; weight: number }[] {
  const weights = new Float32Array(texts + 1)
  for (const word of words) {
    const weight = weightOf(word, texts)
    for (const place of word.places) weights[place] = (weights[place] as number) + weight
  }
  const best = createBestSlots(limit, (place) => place)
  let least = Number.MIN_VALUE
  for (let place = texts; place > 0; place -= 1) {
    const weight = weights[place] as number
    if (weight >= least) least = Math.max(best.offer(place, weight), Number.MIN_VALUE)
  }
  return best.take().map(({ slot, score }) => ({ place: slot, weight: score }))
}

function weightOf({ places, isCut }: WordPlaces, texts: number): number {
  const oldest = places.reduce((a, b) => Math.min(a, b), texts)
  const holding = isCut ? (places.length * texts) / (texts - oldest + 1) : places.length
  return wordWeight(holding, texts)
}
