import type { Clock } from '../base/clock.ts'

const settleMs = 1_000

/**
 * Gives back, a moment after the start, what starting has used: a sixth of all that an idle daemon would hold, and nothing
 * else collects it while nothing happens. It takes some 40 ms, once. Only with `--expose-gc`, as the launcher has it.
 */
export function settleMemory(clock: Clock): void {
  const { gc } = globalThis
  if (gc) clock.after(settleMs, () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }))
}
