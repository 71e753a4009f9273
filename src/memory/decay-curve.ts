import { type DecayState, strengthOf } from './decay.ts'
import type { Memory } from './memory.ts'

interface DecayPoint {
  /** Days from now, or cycles where the policy counts those; negative for what has been. */
  offset: number
  strength: number
}

const dayMs = 24 * 60 * 60 * 1_000
const steps = 60
/** So far ahead is looked: by then what is short-lived has gone, and the rest has told how it will go. */
const ahead = { time: { short_term: 21, long_term: 365 }, cycles: { short_term: 50, long_term: 200 } } as const

/** How a memory fades from when it was last used, past now, if nobody uses it again. */
export function decayCurve(memory: Memory, state: DecayState): DecayPoint[] {
  const { policy, now, cycle } = state
  const begin = policy === 'time' ? -Math.max(0, now - memory.usedAt) / dayMs : -Math.max(0, cycle - memory.cycle)
  const end = ahead[policy][memory.tier]
  const offsets = Array.from({ length: steps + 1 }, (_, step) => begin + ((end - begin) * step) / steps)
  const whole = policy === 'cycles' ? offsets.map(Math.round) : offsets
  // Now is one of them: what is drawn there is what recall reckons with.
  return [...new Set([...whole, 0])]
    .sort((a, b) => a - b)
    .map((offset) => ({
      offset,
      strength: strengthOf(memory, { policy, now: now + offset * dayMs, cycle: cycle + offset }),
    }))
}
