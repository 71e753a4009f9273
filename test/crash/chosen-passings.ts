/** Whether a run takes all the time that it needs; by itself it stays within what a push may take. */
export const takesAll = Boolean(process.env.FAMILIAR_TEST_ALL)

/** Every second of what is there, beginning with the first; with all of them, each. */
export function chosen<T>(points: readonly T[]): T[] {
  return takesAll ? [...points] : points.filter((_, index) => index % 2 === 0)
}

/** The last passing of a step, which has the most behind it; with all of them, each. */
export function chosenPassings(count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1)
  return takesAll ? all : all.filter((passing) => passing === count)
}
