export interface RankedList<T> {
  /** Best first; scores are comparable inside the list only. */
  items: readonly { id: string; score: number; item: T }[]
  weight: number
}

export interface Merged<T> {
  id: string
  item: T
  /** Comparable inside one answer. */
  score: number
  /** 0 to 1: how close it came to the best of whichever list liked it most. */
  relevance: number
}

// Flat enough that being found twice counts more than being first once.
const flatness = 60

/**
 * Several lists as one, by reciprocal rank. How much better one item was than the next inside its list is kept: each
 * place counts for as much of itself as the item's score is of the list's best.
 */
export function mergeByRank<T>(lists: readonly RankedList<T>[]): Merged<T>[] {
  const merged = new Map<string, Merged<T>>()
  for (const { items, weight } of lists) {
    const best = Math.max(...items.map((item) => item.score))
    for (const [index, { id, score, item }] of items.entries()) {
      const relevance = best > 0 ? Math.max(0, score) / best : 0
      const known = merged.get(id) ?? { id, item, score: 0, relevance: 0 }
      known.score += (weight * relevance) / (flatness + index + 1)
      known.relevance = Math.max(known.relevance, relevance)
      merged.set(id, known)
    }
  }
  return [...merged.values()].toSorted((a, b) => b.score - a.score || b.relevance - a.relevance)
}
