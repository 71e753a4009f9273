import { percentile, rounded } from '../statistics.ts'

export interface Figures {
  /** Shares of the questions whose answer is first, or among the first five. */
  recallAt1: number
  recallAt5: number
  /** The half that the weight of words was chosen on, and the other one. */
  recallAt5OfHalves: [chosen: number, held: number]
  p50Ms: number
  p95Ms: number
  /** Those that were not found, by the name of what would have answered them. */
  missed: string[]
}

/** Asks one after another. `find` answers with the names of tools, best first, at most five. */
export async function askAll(
  questions: readonly { text: string; answer: string }[],
  find: (text: string) => Promise<readonly string[]>,
): Promise<Figures> {
  const times: number[] = []
  const places: number[] = []
  for (const { text, answer } of questions) {
    const startedAt = performance.now()
    const found = await find(text)
    times.push(performance.now() - startedAt)
    places.push(found.indexOf(`cap_${answer}`))
  }
  const share = (from: readonly number[], most: number) =>
    rounded(from.filter((place) => place >= 0 && place < most).length / Math.max(1, from.length), 3)
  const half = (parity: number) => places.filter((_, index) => index % 2 === parity)
  return {
    recallAt1: share(places, 1),
    recallAt5: share(places, 5),
    recallAt5OfHalves: [share(half(0), 5), share(half(1), 5)],
    p50Ms: rounded(percentile(times, 0.5)),
    p95Ms: rounded(percentile(times, 0.95)),
    missed: questions.filter((_, index) => (places[index] ?? -1) < 0).map(({ answer }) => answer),
  }
}
