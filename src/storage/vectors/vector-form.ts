import type { BestSlots } from './best-slots.ts'
import type { WideQuestion } from './wide-question.ts'

/** Vectors in memory, in slots from zero on. How much of each is kept is the form's own. */
export interface VectorForm {
  /** What it holds of memory. */
  readonly bytes: number
  /** Into the slot after the last. */
  append(vector: Int8Array): void
  /** The last vector takes the slot of the one that goes. */
  remove(slot: number): void
  /** Offers every slot that can be among the best. Scores compare only with each other. */
  scan(question: WideQuestion, best: BestSlots): void
}

/** So many vectors are computed before their results are read: few enough for all of it to stay in the cache. */
export const vectorsPerBlock = 4096
