interface Match {
  id: number
  score: number
  length: number
}

/** The best so many of many: by score, then the shorter, then the earlier one. */
interface BestMatches {
  offer(id: number, score: number, length: number): void
  /** Whether this one would be among them with this score. */
  wouldKeep(id: number, score: number, length: number): boolean
  /** The best first. */
  list(): Match[]
}

export function createBestMatches(most: number): BestMatches {
  const kept: Match[] = []

  /** Where it belongs among those that are kept. */
  function placeOf(match: Match): number {
    let low = 0
    let high = kept.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBetter(kept[middle] as Match, match)) low = middle + 1
      else high = middle
    }
    return low
  }

  function wouldKeep(id: number, score: number, length: number): boolean {
    if (kept.length < most) return true
    const worst = kept[most - 1] as Match
    if (score !== worst.score) return score > worst.score
    return length !== worst.length ? length < worst.length : id < worst.id
  }

  return {
    wouldKeep,
    offer(id, score, length) {
      if (!wouldKeep(id, score, length)) return
      const match = { id, score, length }
      kept.splice(placeOf(match), 0, match)
      if (kept.length > most) kept.pop()
    },
    list: () => kept,
  }
}

function isBetter(one: Match, other: Match): boolean {
  if (one.score !== other.score) return one.score > other.score
  return one.length !== other.length ? one.length < other.length : one.id < other.id
}
