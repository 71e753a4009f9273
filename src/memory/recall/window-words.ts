import type { Memory } from '../memory.ts'
import { type Candidate, placeKey } from './candidate.ts'

/**
 * BM25 over each candidate together with its neighbours in the conversation, which count less: short lines of talk answer
 * each other, and the word that was asked for often stands one line above the answer.
 */
const neighbours = [
  { distance: -2, weight: 0.4 },
  { distance: -1, weight: 0.6 },
  { distance: 1, weight: 0.4 },
  { distance: 2, weight: 0.2 },
]
// Only talk counts as talk: long prose beside a line says less about it than the line itself, and a passage out of the
// middle of one has no neighbours. What the user said is talk at any length: the next line often goes on from it.
const longestTalk = 450
const saturation = 0.25
const lengthShare = 0.4

export interface WindowWords {
  /** Not normalised; 0 where no word of the question occurs. */
  scores: Float64Array
  /** What each term of the question is worth: rare ones more. */
  worth: ReadonlyMap<string, number>
}

/** `terms` are the question's. `beside` holds whatever stands next to a candidate, candidates included. */
export function windowWords(
  terms: readonly string[],
  candidates: readonly Candidate[],
  beside: ReadonlyMap<string, Candidate>,
): WindowWords {
  const counted = new Map<Candidate, readonly number[]>()
  // Most stand beside several others.
  const countsOf = (candidate: Candidate) => {
    const counts = counted.get(candidate) ?? countTerms(terms, candidate.terms)
    counted.set(candidate, counts)
    return counts
  }
  const windows = candidates.map((candidate) => countWindow(countsOf, candidate, beside))
  const averageLength = windows.reduce((sum, window) => sum + window.length, 0) / Math.max(1, windows.length) || 1
  const worth = new Map(
    terms.map((term, index) => {
      const holding = windows.filter((window) => (window.own[index] ?? 0) > 0).length
      return [term, Math.log(1 + (windows.length - holding + 0.5) / (holding + 0.5))]
    }),
  )
  const scores = Float64Array.from(windows, ({ counts, length }) => {
    const denominator = saturation * (1 - lengthShare + (lengthShare * length) / averageLength)
    return terms.reduce((sum, term, index) => {
      const count = counts[index] ?? 0
      return sum + ((worth.get(term) ?? 0) * count * (saturation + 1)) / (count + denominator)
    }, 0)
  })
  return { scores, worth }
}

function countWindow(
  countsOf: (candidate: Candidate) => readonly number[],
  candidate: Candidate,
  beside: ReadonlyMap<string, Candidate>,
) {
  const own = countsOf(candidate)
  const counts = [...own]
  let length = candidate.terms.length
  for (const { neighbour, weight } of neighboursOf(candidate, beside)) {
    countsOf(neighbour).forEach((count, index) => {
      counts[index] = (counts[index] ?? 0) + weight * count
    })
    length += weight * neighbour.terms.length
  }
  return { own, counts, length }
}

function neighboursOf({ memory }: Candidate, beside: ReadonlyMap<string, Candidate>) {
  if (!isTalk(memory)) return []
  const { threadId, position } = memory
  return neighbours.flatMap(({ distance, weight }) => {
    const neighbour = threadId === null ? undefined : beside.get(placeKey(threadId, (position ?? 0) + distance))
    return neighbour && isHeard(neighbour.memory) ? [{ neighbour, weight }] : []
  })
}

/** The places whose words count for this memory. */
export function placesBeside(memory: Memory): { threadId: string; position: number }[] {
  const { threadId, position } = memory
  if (threadId === null || position === null || !isTalk(memory)) return []
  return neighbours.map(({ distance }) => ({ threadId, position: position + distance }))
}

function isTalk({ content, passages, threadId, position }: Memory): boolean {
  return threadId !== null && position !== null && passages === 1 && content.length <= longestTalk
}

function isHeard(memory: Memory): boolean {
  return isTalk(memory) || memory.speaker === 'user'
}

function countTerms(wanted: readonly string[], terms: readonly string[]): number[] {
  return wanted.map((term) => terms.reduce((count, other) => (other === term ? count + 1 : count), 0))
}
