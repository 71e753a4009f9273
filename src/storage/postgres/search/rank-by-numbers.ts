import { createBestSlots } from '../../vectors/best-slots.ts'

/** In which texts a word stands, and what it counts. */
export interface WeighedWord {
  /** Of the texts, the newest first. */
  numbers: Float64Array
  weight: number
}

/**
 * The texts that hold most of what tells texts apart, best first, among equals the newer ones: what SQLite's
 * `rankByWords` finds. A user's numbers have gaps, because others' texts lie between them, so the lists are merged.
 */
export function rankByNumbers(words: readonly WeighedWord[], limit: number): { number: number; weight: number }[] {
  const best = createBestSlots(limit, (number) => number)
  const next = words.map(() => 0)
  let least = Number.MIN_VALUE
  for (;;) {
    const number = newestOf(words, next)
    if (number === 0) break
    let weight = 0
    for (let at = 0; at < words.length; at += 1) {
      const word = words[at] as WeighedWord
      if (word.numbers[next[at] as number] !== number) continue
      weight = Math.fround(weight + word.weight)
      next[at] = (next[at] as number) + 1
    }
    if (weight >= least) least = Math.max(best.offer(number, weight), Number.MIN_VALUE)
  }
  return best.take().map(({ slot, score }) => ({ number: slot, weight: score }))
}

/** Zero where all are passed: numbers begin at one. */
function newestOf(words: readonly WeighedWord[], next: readonly number[]): number {
  let newest = 0
  for (let at = 0; at < words.length; at += 1) {
    const number = (words[at] as WeighedWord).numbers[next[at] as number]
    if (number !== undefined && number > newest) newest = number
  }
  return newest
}
