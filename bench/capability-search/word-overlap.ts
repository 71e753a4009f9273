import { wordsOf } from '../../src/custom-tools/search.ts'
import { rounded } from '../statistics.ts'
import type { BenchCapability } from './capability-set.ts'

/** How much the questions of a set have in common with what the answers say: figures that explain its recall. */
export interface WordOverlap {
  /** Share of the questions that have a word of the answer's name or description. */
  withNameOrDescription: number
  /** Share of those that have a word of one of its samples. */
  withSamples: number
  /** Of the words of a question, the share that its samples have, on average. */
  wordsInSamples: number
  /** Questions all of whose words are in one of the samples: nearly the same sentence. */
  repeatSample: number
}

interface Asked {
  text: string
  capability: BenchCapability
}

export function measureOverlap(asked: readonly Asked[]): WordOverlap {
  const share = (test: (one: Asked) => boolean) => rounded(asked.filter(test).length / Math.max(1, asked.length), 3)
  const inSamples = asked.map(({ text, capability }) => shareIn(text, capability.askedAs.join(' ')))
  return {
    withNameOrDescription: share(sharesItsWords),
    withSamples: share(sharesItsSamples),
    wordsInSamples: rounded(inSamples.reduce((sum, one) => sum + one, 0) / Math.max(1, asked.length), 3),
    repeatSample: asked.filter(repeatsSample).length,
  }
}

export function sharesItsWords({ text, capability }: Asked): boolean {
  return shareIn(text, `${capability.name} ${capability.description}`) > 0
}

export function sharesItsSamples({ text, capability }: Asked): boolean {
  return shareIn(text, capability.askedAs.join(' ')) > 0
}

export function repeatsSample({ text, capability }: Asked): boolean {
  return capability.askedAs.some((sample) => shareIn(text, sample) === 1)
}

function shareIn(text: string, other: string): number {
  const words = [...new Set(wordsOf(text))]
  const known = new Set(wordsOf(other))
  return words.filter((word) => known.has(word)).length / Math.max(1, words.length)
}
