import type { Memory } from '../memory.ts'

const tagWeight = 0.3
const contentWeight = 0.2
const recencyWeight = 0.2
const recentMs = 24 * 60 * 60 * 1_000

/**
 * Tags before content before freshness: 0.3 for each word of the question among the tags, 0.2 for each in the content, up
 * to 0.2 for what was used in the last day. Weak alone; kept as one voice among the others, where it speaks for tags.
 */
export function classicScore(memory: Memory, terms: readonly string[], asked: readonly string[], now: number): number {
  const tags = memory.tags.join(' ').toLowerCase()
  const matches = asked.reduce((sum, term) => {
    const inTags = tags.includes(term) ? tagWeight : 0
    return sum + inTags + (terms.includes(term) ? contentWeight : 0)
  }, 0)
  const freshness = Math.max(0, 1 - Math.max(0, now - memory.usedAt) / recentMs)
  return matches + freshness * recencyWeight
}
