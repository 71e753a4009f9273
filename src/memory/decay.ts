import type { Memory, MemoryTier } from './memory.ts'

export type DecayPolicy = 'time' | 'cycles'

export interface DecayState {
  policy: DecayPolicy
  now: number
  /** The user's count of cycles. Only the policy `cycles` looks at it. */
  cycle: number
}

type Fading = Pick<Memory, 'tier' | 'priority' | 'usedAt' | 'useCount' | 'cycle'>

const dayMs = 24 * 60 * 60 * 1_000
const lossPerCycle: Record<MemoryTier, number> = { short_term: 0.02, long_term: 0.005 }
const halfLifeMs: Record<MemoryTier, number> = { short_term: 3 * dayMs, long_term: 180 * dayMs }

// Each use makes a memory last a tenth longer, up to three times as long.
const longerPerUse = 0.1
const mostUses = 20
/** A lasting memory never fades below this share of its priority. */
const lastingShare = 0.2
const faded = 0.05

/** What a memory's priority has faded to, 0 to 1. Computed whenever it is read: nothing is ever written for it. */
export function strengthOf(memory: Fading, { policy, now, cycle }: DecayState): number {
  return policy === 'cycles' ? afterCycles(memory, cycle - memory.cycle) : afterTime(memory, now - memory.usedAt)
}

/** True for what is left out of recall. Only what was meant to be short-lived: a lasting memory is always found. */
export function isFaded(memory: Fading, state: DecayState): boolean {
  return memory.tier === 'short_term' && strengthOf(memory, state) < faded
}

/**
 * The same number to the last digit as `priority = max(0, priority - decay_rate)` run once per cycle: step by step, for
 * one multiplication rounds differently. It ends at zero, after two hundred steps at most.
 */
function afterCycles({ tier, priority }: Fading, cycles: number): number {
  let strength = priority
  for (let step = 0; step < cycles && strength > 0; step += 1) strength = Math.max(0, strength - lossPerCycle[tier])
  return strength
}

function afterTime({ tier, priority, useCount }: Fading, ageMs: number): number {
  const halfLife = halfLifeMs[tier] * (1 + longerPerUse * Math.min(useCount, mostUses))
  const share = 2 ** (-Math.max(0, ageMs) / halfLife)
  return Math.min(1, priority * (tier === 'long_term' ? Math.max(lastingShare, share) : share))
}
