import { createBestSlots } from './best-slots.ts'
import { createCoarseVectors } from './coarse-vectors.ts'
import { measureSpread } from './dimension-spread.ts'
import { createExactVectors, type ExactVectors } from './exact-vectors.ts'
import type { VectorForm } from './vector-form.ts'
import type { VectorKernel } from './vector-kernel.ts'
import type { WideQuestion } from './wide-question.ts'

/** The vectors of one user and one model, in memory. */
export interface VectorSet {
  readonly dimensions: number
  /** What it holds of memory, roughly. */
  readonly bytes: number
  /** Whether the candidates are the best there are, by their scores; otherwise they are to be looked at again. */
  readonly isExact: boolean
  add(vector: StoredVector): void
  /** Candidates of the newest answer. */
  remove(candidates: readonly Candidate[]): void
  /** Best first, at most `limit`. */
  nearest(question: WideQuestion, limit: number): Candidate[]
}

interface StoredVector {
  /** Where `memory_vectors` holds it. */
  place: number
  /** Of the memory. */
  number: number
  vector: Int8Array
}

export interface Candidate {
  slot: number
  place: number
  number: number
  /** The cosine, where the set is exact. */
  score: number
}

/** Keeps the vectors whole up to `exactLimit` of them, and beyond that only roughly. */
export function createVectorSet(options: {
  dimensions: number
  exactLimit: number
  createKernel: () => VectorKernel
}): VectorSet {
  const { dimensions, exactLimit, createKernel } = options
  const places: number[] = []
  const numbers: number[] = []
  /** Let go once there are too many. */
  let exact: ExactVectors | undefined = createExactVectors({ kernel: createKernel(), dimensions })
  let form: VectorForm = exact

  function coarsen(whole: ExactVectors): void {
    const vectors = () => Iterator.from(numbers.keys()).map((slot) => whole.vector(slot))
    const spread = measureSpread(vectors, dimensions)
    form = createCoarseVectors({ kernel: createKernel(), dimensions, spread })
    for (const vector of vectors()) form.append(vector)
    exact = undefined
  }

  return {
    dimensions,
    get bytes() {
      return form.bytes + numbers.length * 16
    },
    get isExact() {
      return exact !== undefined
    },
    add({ place, number, vector }) {
      if (exact && numbers.length >= exactLimit) coarsen(exact)
      form.append(vector)
      places.push(place)
      numbers.push(number)
    },
    remove(candidates) {
      // From the last slot on: what moves into a hole is then never one of those that are to go.
      for (const { slot } of candidates.toSorted((a, b) => b.slot - a.slot)) {
        form.remove(slot)
        moveLastTo(places, slot)
        moveLastTo(numbers, slot)
      }
    },
    nearest(question, limit) {
      const best = createBestSlots(limit, (slot) => numbers[slot] ?? 0)
      form.scan(question, best)
      return best.take().map(({ slot, score }) => ({
        slot,
        place: places[slot] ?? 0,
        number: numbers[slot] ?? 0,
        score: score * question.inverseLength,
      }))
    },
  }
}

function moveLastTo(list: number[], slot: number): void {
  const last = list.pop()
  if (last !== undefined && slot < list.length) list[slot] = last
}
