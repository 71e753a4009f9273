import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createBestSlots } from './stored-vectors.ts'

it('MEM-3 keeps what a sort would put first, ties by the higher number', () => {
  // Few different scores, so that there are ties.
  const scores = fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 60 })
  fc.assert(
    fc.property(scores, fc.integer({ min: 1, max: 20 }), fc.nat(), (offered, limit, turn) => {
      const numbers = offered.map((_, slot) => (slot * 7 + turn) % 61)
      const sorted = offered
        .map((score, slot) => ({ slot, score }))
        .sort((a, b) => b.score - a.score || (numbers[b.slot] ?? 0) - (numbers[a.slot] ?? 0))
      const best = createBestSlots(limit, (slot) => numbers[slot] ?? 0)
      let least = Number.NEGATIVE_INFINITY
      for (const [slot, score] of offered.entries()) if (score >= least) least = best.offer(slot, score)
      expect(best.take()).toEqual(sorted.slice(0, limit))
    }),
  )
})
