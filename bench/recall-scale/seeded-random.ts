/** A stream of numbers from 0 to 1, the same for the same seeds on every machine. */
export interface SeededRandom {
  next(): number
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  chance(share: number): boolean
}

/** Streams of different seeds have nothing to do with each other, so that any part of the data can be made on its own. */
export function seededRandom(...seeds: readonly number[]): SeededRandom {
  let state = 0x9e3779b9
  for (const seed of seeds) state = mix(state ^ Math.imul(seed + 1, 0x85ebca6b))
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    return (mix(state) >>> 0) / 2 ** 32
  }
  return {
    next,
    below: (limit) => Math.floor(next() * limit),
    pick<T>(items: readonly T[]) {
      return items[Math.floor(next() * items.length)] as T
    },
    chance: (share) => next() < share,
  }
}

function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x21f0aaad)
  const twice = Math.imul(once ^ (once >>> 15), 0x735a2d97)
  return twice ^ (twice >>> 15)
}
