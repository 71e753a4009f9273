import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { Database } from '../storage/database.ts'
import type { Memory, MemoryKind, Retention } from './memory.ts'

export type DecayPolicy = 'time' | 'cycles'

export interface DecayState {
  policy: DecayPolicy
  now: number
  /** The user's cycle count. Only the policy `cycles` uses it. */
  cycle: number
}

type Fading = Pick<Memory, 'tier' | 'priority' | 'usedAt' | 'useCount' | 'cycle'>

const dayMs = 24 * 60 * 60 * 1_000
const lossPerCycle: Record<Retention, number> = { short_term: 0.02, long_term: 0.005 }
const halfLifeMs: Record<Retention, number> = { short_term: 3 * dayMs, long_term: 180 * dayMs }

// Each use makes a memory last a tenth longer, up to three times as long.
const longerPerUse = 0.1
const maxUses = 20
/** A long-term memory never decays below this share of its priority. */
const lastingShare = 0.2
const faded = 0.05

/** The current value of a memory's priority, 0 to 1. Computed on every read: it is never written. */
export function strengthOf(memory: Fading, { policy, now, cycle }: DecayState): number {
  return policy === 'cycles' ? afterCycles(memory, cycle - memory.cycle) : afterTime(memory, now - memory.usedAt)
}

/** True for memories that recall omits. Only short-term ones: a long-term memory is always found. */
export function isFaded(memory: Fading, state: DecayState): boolean {
  return memory.tier === 'short_term' && strengthOf(memory, state) < faded
}

/**
 * Exactly the same number as `priority = max(0, priority - decay_rate)` once per cycle: step by step, because one
 * multiplication rounds differently. It ends at zero, after at most two hundred steps.
 */
function afterCycles({ tier, priority }: Fading, cycles: number): number {
  let strength = priority
  for (let step = 0; step < cycles && strength > 0; step += 1) strength = Math.max(0, strength - lossPerCycle[tier])
  return strength
}

function afterTime({ tier, priority, useCount }: Fading, ageMs: number): number {
  const halfLife = halfLifeMs[tier] * (1 + longerPerUse * Math.min(useCount, maxUses))
  const share = 2 ** (-Math.max(0, ageMs) / halfLife)
  return Math.min(1, priority * (tier === 'long_term' ? Math.max(lastingShare, share) : share))
}

export type MemoryCounts = Awaited<ReturnType<typeof countMemories>>

/** The amounts of one user: current memories, and changes that can still be undone. */
export async function countMemories({ database, clock }: { database: Database; clock: Clock }, userId: string) {
  const memories: Record<MemoryKind, number> = { note: 0, fact: 0, episode: 0, commitment: 0, chunk: 0 }
  let superseded = 0
  const kinds = await database.read
    .selectFrom('memories')
    .select(({ fn }) => ['kind', fn.countAll().as('count'), fn.count('superseded_at').as('superseded')])
    .where('user_id', '=', userId)
    .groupBy('kind')
    .execute()
  for (const row of kinds) {
    memories[row.kind] = Number(row.count) - Number(row.superseded)
    superseded += Number(row.superseded)
  }
  const files = await count(sql`memory_files`, sql`coalesce(sum(bytes), 0)`)
  return {
    memories,
    superseded,
    aliases: (await count(sql`entity_aliases`)).count,
    edges: (await count(sql`memory_edges`)).count,
    changes: (await count(sql`memory_changes`, sql`0`, sql`undo_until >= ${clock.now()}`)).count,
    files,
  }

  async function count(table: RawBuilder<unknown>, bytes = sql`0`, condition = sql`1 = 1`) {
    const { rows } = await sql<{ count: number; bytes: number }>`
      select count(*) as count, ${bytes} as bytes from ${table} where user_id = ${userId} and ${condition}`.execute(
      database.read,
    )
    return { count: Number(rows[0]?.count ?? 0), bytes: Number(rows[0]?.bytes ?? 0) }
  }
}

const steps = 60
/** How far the curve extends: by then short-term memories are gone, and the trend of others is visible. */
const ahead = { time: { short_term: 21, long_term: 365 }, cycles: { short_term: 50, long_term: 200 } } as const

/**
 * How a memory decays from its last use, past now, if it is not used again. `offset` are days from now, or cycles with
 * that policy; negative for the past.
 */
export function decayCurve(memory: Memory, state: DecayState): { offset: number; strength: number }[] {
  const { policy, now, cycle } = state
  const begin = policy === 'time' ? -Math.max(0, now - memory.usedAt) / dayMs : -Math.max(0, cycle - memory.cycle)
  const end = ahead[policy][memory.tier]
  const offsets = Array.from({ length: steps + 1 }, (_, step) => begin + ((end - begin) * step) / steps)
  const whole = policy === 'cycles' ? offsets.map(Math.round) : offsets
  // Includes now, where the drawn value equals the one that recall uses.
  return [...new Set([...whole, 0])]
    .sort((a, b) => a - b)
    .map((offset) => ({
      offset,
      strength: strengthOf(memory, { policy, now: now + offset * dayMs, cycle: cycle + offset }),
    }))
}
