/** Whether a run takes all the time that it needs; by itself it stays within what a push may take. */
export const takesAll = Boolean(process.env.FAMILIAR_TEST_ALL)

/** The last passing of a step, which has the most behind it; with all of them, each. */
export function chosenPassings(count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1)
  return takesAll ? all : all.filter((passing) => passing === count)
}
