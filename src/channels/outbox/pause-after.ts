const firstPauseMs = 1_000
const longestPauseMs = 10 * 60_000

/** How long to wait after so many attempts in vain: twice as long each time, and never all at the same moment. */
export function pauseAfter(attempts: number, random: () => number): number {
  const pause = firstPauseMs * 2 ** Math.min(Math.max(attempts - 1, 0), 20)
  return Math.round(Math.min(longestPauseMs, pause * (1 + random() / 4)))
}
