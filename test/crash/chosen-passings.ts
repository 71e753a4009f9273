/** Whether a run takes all the time that it needs; by itself it stays within what a push may take. */
export const takesAll = Boolean(process.env.FAMILIAR_TEST_ALL)

/** The first passing of a step and the last: what differs between passings is whether one came before, and what after. */
export function chosenPassings(count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1)
  return takesAll ? all : all.filter((passing) => passing === 1 || passing === count)
}
