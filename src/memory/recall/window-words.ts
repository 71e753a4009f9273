import type { Database } from '../../storage/database.ts'
import type { Memory } from '../memory.ts'

/**
 * BM25 over each candidate together with its neighbors in the conversation, which count less: short lines answer each
 * other, and the word in the question is often one line above the answer.
 */
const neighbours = [
  { distance: -2, weight: 0.4 },
  { distance: -1, weight: 0.6 },
  { distance: 1, weight: 0.4 },
  { distance: 2, weight: 0.2 },
]
// Only short lines count as talk: long prose says little about its neighbors, and a passage from its middle has none.
// The user's words count at any length: the next line often continues them.
const maxTalkLength = 450
const saturation = 0.25
const lengthShare = 0.4

export interface WindowWords {
  /** Not normalized; 0 if no word of the question occurs. */
  scores: Float64Array
  /** The weight of each term of the question: rare ones more. */
  worth: ReadonlyMap<string, number>
}

/** `terms` are the question's. `beside` contains all neighbors of candidates, including candidates. */
export function windowWords(
  terms: readonly string[],
  candidates: readonly Candidate[],
  beside: ReadonlyMap<string, Candidate>,
): WindowWords {
  const counted = new Map<Candidate, readonly number[]>()
  // Most are neighbors of several others.
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
  return threadId !== null && position !== null && passages === 1 && content.length <= maxTalkLength
}

function isHeard(memory: Memory): boolean {
  return isTalk(memory) || memory.speaker === 'user'
}

function countTerms(wanted: readonly string[], terms: readonly string[]): number[] {
  return wanted.map((term) => terms.reduce((count, other) => (other === term ? count + 1 : count), 0))
}

/** A memory that may answer, with its data so far. */
export interface Candidate {
  memory: Memory
  terms: readonly string[]
  /** Its rank in the full-text results, from 1. */
  wordRank?: number | undefined
  /** Cosine of meaning, if it was among the nearest. */
  cosine?: number | undefined
  meaningRank?: number | undefined
  /** The nearest passage of a long one. */
  part?: number | undefined
  /** Found only as a neighbor of a good one. */
  isNeighbour?: true
}

/** A memory's place in its conversation or file; undefined if it has none. */
export function placeOf({ threadId, position }: Memory): string | undefined {
  return threadId === null || position === null ? undefined : placeKey(threadId, position)
}

function placeKey(threadId: string, position: number): string {
  return `${position} ${threadId}`
}

/** The people in a user's conversations. `user` and `assistant` are not names. */
export interface SpeakerNames {
  /** Those whose names the text contains as separate words. */
  in(text: string): string[]
  /**
   * The text without their names. A name in half of all lines says nothing about a line, but would dominate a small
   * embedding: without names, meaning alone finds 50 % more.
   */
  takenOut(text: string): string
}

export type KnownSpeakers = ReturnType<typeof createKnownSpeakers>

const noSpeakers: SpeakerNames = { in: () => [], takenOut: (text) => text }
const roles = ['user', 'assistant']
// Other characters must not be escaped: an unnecessary escape in a Unicode pattern is an error.
const signOfPattern = /[\\^$.*+?()[\]{}|/]/g
const maxNames = 200
const freshMs = 10_000

/** Queried at most every ten seconds per user: names are few and seldom change. */
export function createKnownSpeakers({ database, now }: { database: Database; now: () => number }) {
  const known = new Map<string, { names: Promise<SpeakerNames>; at: number }>()

  async function read(userId: string): Promise<SpeakerNames> {
    const rows = await database.read
      .selectFrom('memory_speakers')
      .select('name')
      .where('user_id', '=', userId)
      .orderBy('name')
      .limit(maxNames)
      .execute()
    return speakerNames(rows.map((row) => row.name))
  }

  return {
    of(userId: string): Promise<SpeakerNames> {
      const found = known.get(userId)
      if (found && now() - found.at < freshMs) return found.names
      const names = read(userId)
      // A failure is not cached.
      names.catch(() => known.delete(userId))
      known.set(userId, { names, at: now() })
      return names
    },
  }
}

export function speakerNames(names: readonly string[]): SpeakerNames {
  const people = names.filter((name) => name.trim() !== '' && !roles.includes(name.toLowerCase()))
  if (people.length === 0) return noSpeakers
  const byFolded = new Map(people.map((name) => [name.toLowerCase(), name]))
  // Longest first, so that "Anna Maria" does not match as Anna.
  const alternatives = people
    .toSorted((a, b) => b.length - a.length)
    .map((name) => name.replaceAll(signOfPattern, '\\$&'))
  const anyName = new RegExp(`(?<![\\p{L}\\p{N}])(${alternatives.join('|')})(?:['’]s)?(?![\\p{L}\\p{N}])`, 'giu')
  return {
    in(text) {
      const found = Array.from(text.matchAll(anyName), ([, name = '']) => byFolded.get(name.toLowerCase()))
      return [...new Set(found.filter((name) => name !== undefined))]
    },
    takenOut(text) {
      const rest = text.replace(anyName, ' ').replaceAll(/\s+/g, ' ').trim()
      // A text that is only a name stays: an empty text has no meaning.
      return /[\p{L}\p{N}]/u.test(rest) ? rest.replace(/^[\s,;:!.]+/, '') : text
    },
  }
}
