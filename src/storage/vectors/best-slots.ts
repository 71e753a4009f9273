/** The best few of many, found in one pass. */
export interface BestSlots {
  /** Returns what the next one has to score at least: anything less need not be offered. */
  offer(slot: number, score: number): number
  /** Best first. Empties it. */
  take(): { slot: number; score: number }[]
}

/** A heap of at least one whose root is the worst of the best. Among equal scores the higher number is better. */
export function createBestSlots(limit: number, numberOf: (slot: number) => number): BestSlots {
  const slots: number[] = []
  const scores: number[] = []
  return {
    offer(slot, score) {
      if (slots.length < limit) rise(slot, score)
      else if (isWorse(at(slots, 0), at(scores, 0), slot, score)) sink(slot, score)
      return slots.length < limit ? Number.NEGATIVE_INFINITY : at(scores, 0)
    },
    take() {
      const order = Array.from(slots, (slot, index) => ({ slot, score: at(scores, index) }))
      slots.length = 0
      scores.length = 0
      return order.sort((a, b) => b.score - a.score || numberOf(b.slot) - numberOf(a.slot))
    },
  }

  function isWorse(slot: number, score: number, thanSlot: number, thanScore: number): boolean {
    return score < thanScore || (score === thanScore && numberOf(slot) < numberOf(thanSlot))
  }

  function put(index: number, slot: number, score: number): void {
    slots[index] = slot
    scores[index] = score
  }

  /** From the end towards the root, past everything that is better. */
  function rise(slot: number, score: number): void {
    let index = slots.length
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isWorse(slot, score, at(slots, parent), at(scores, parent))) break
      put(index, at(slots, parent), at(scores, parent))
      index = parent
    }
    put(index, slot, score)
  }

  /** In place of the root, towards the end, past everything that is worse. */
  function sink(slot: number, score: number): void {
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= slots.length) break
      const other = child + 1
      if (other < slots.length && isWorse(at(slots, other), at(scores, other), at(slots, child), at(scores, child))) {
        child = other
      }
      if (!isWorse(at(slots, child), at(scores, child), slot, score)) break
      put(index, at(slots, child), at(scores, child))
      index = child
    }
    put(index, slot, score)
  }
}

function at(list: readonly number[], index: number): number {
  return list[index] as number
}
