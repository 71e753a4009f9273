import { type DecayState, strengthOf } from '../decay.ts'
import { standingWish } from '../standing-wish.ts'
import type { Candidate } from './candidate.ts'
import { classicScore } from './classic-score.ts'
import { matchDates } from './match-dates.ts'
import type { Question } from './question.ts'
import type { SignalName } from './weights.ts'
import type { WindowWords } from './window-words.ts'

export interface Scene {
  question: Question
  candidates: readonly Candidate[]
  words: WindowWords
  decay: DecayState
  /** What the graph leads to from the best, with the weight of the way. */
  related: ReadonlyMap<string, number>
}

/** One view of all candidates: 0 to 1 each. */
type Signal = (scene: Scene) => ArrayLike<number>

const hourMs = 60 * 60 * 1_000
const recencyHalfLifeMs = 30 * 24 * hourMs
const slightLength = 80
const usualLength = 120
const longLength = 800
const longestQuestion = 500
const manyPassages = 8
const speaksOfSelf = /\b(?:I|I['’](?:m|ve|d|ll)|my|we|our)\b/
const speaksOfNumber =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|first|second|third|dozen|couple)\b/i

export const signals: Record<SignalName, Signal> = {
  meaning: ({ candidates }) => betweenExtremes(withFloor(candidates)),
  words: ({ words }) => shareOfBest(words.scores),
  'thread words': ({ candidates, words, question }) => shareOfBest(threadWords(candidates, words, question.terms)),
  'thread meaning': ({ candidates }) => threadMeaning(candidates, betweenExtremes(withFloor(candidates))),
  dates: ({ candidates, question: { dates } }) =>
    candidates.map(({ memory }) => (dates ? matchDates(memory, dates) : 0)),
  speaker: ({ candidates, question: { speakers } }) =>
    candidates.map(({ memory }) => flag(memory.speaker !== null && speakers.includes(memory.speaker))),
  role: ({ candidates, question: { asksForReply } }) =>
    candidates.map(({ memory }) => flag(memory.speaker !== 'assistant' || asksForReply)),
  number: ({ candidates, question: { asksHowMany } }) =>
    candidates.map(({ memory }) => flag(asksHowMany && speaksOfNumber.test(memory.content))),
  // Whoever asks is mostly asking about themself.
  self: ({ candidates }) => candidates.map(({ memory }) => flag(speaksOfSelf.test(memory.content))),
  // What was written down on purpose, against what was merely said.
  standing: ({ candidates }) => candidates.map(({ memory }) => standingWish(memory)),
  kept: ({ candidates }) => candidates.map(({ memory }) => flag(memory.kind !== 'chunk')),
  graph: ({ candidates, related }) => candidates.map(({ memory }) => related.get(memory.id) ?? 0),
  tags: ({ candidates, question, decay }) =>
    shareOfBest(candidates.map(({ memory, terms }) => classicScore(memory, terms, question.terms, decay.now))),
  strength: ({ candidates, decay }) => candidates.map(({ memory }) => strengthOf(memory, decay)),
  recency: ({ candidates, decay }) =>
    candidates.map(({ memory }) => 2 ** (-Math.max(0, decay.now - memory.createdAt) / recencyHalfLifeMs)),
  // A question is seldom the answer to one.
  'asks itself': ({ candidates }) =>
    candidates.map(({ memory }) => flag(memory.content.length <= longestQuestion && memory.content.endsWith('?'))),
  // Greetings and thanks.
  'says little': ({ candidates }) =>
    candidates.map(({ memory }) => Math.max(0, 1 - memory.content.length / slightLength)),
  // The same room holds several short memories or one long one.
  'is long': ({ candidates }) =>
    candidates.map(({ memory }) => logShare(memory.content.length / usualLength, longLength / usualLength)),
  // A passage out of long prose says less than a line that was said as it stands, and has many like it.
  'is cut': ({ candidates }) => candidates.map(({ memory }) => flag(memory.passages > 1)),
  'has many passages': ({ candidates }) => candidates.map(({ memory }) => logShare(memory.passages, manyPassages)),
}

function flag(isSo: boolean): number {
  return isSo ? 1 : 0
}

/** 0 for 1 and less, 1 for `most` and more, by the logarithm in between. */
function logShare(value: number, most: number): number {
  return Math.min(1, Math.max(0, Math.log(value) / Math.log(most)))
}

function shareOfBest(values: ArrayLike<number>): ArrayLike<number> {
  const list = Array.from(values)
  const best = Math.max(0, ...list)
  return best === 0 ? list : list.map((value) => value / best)
}

function betweenExtremes(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return values.map((value) => (most > least ? (value - least) / (most - least) : 0))
}

/** What is not among the nearest is as far as the farthest of them. */
function withFloor(candidates: readonly Candidate[]): number[] {
  const cosines = candidates.flatMap(({ cosine }) => cosine ?? [])
  const least = Math.min(...cosines)
  return candidates.map(({ cosine }) => cosine ?? (cosines.length > 0 ? least : 0))
}

/** How much of the question a whole conversation covers. */
function threadWords(candidates: readonly Candidate[], { worth }: WindowWords, terms: readonly string[]): number[] {
  const held = new Map<string, Set<string>>()
  for (const { memory, terms: own } of candidates) {
    if (memory.threadId === null) continue
    const terms = held.get(memory.threadId) ?? new Set()
    for (const term of own) if (worth.has(term)) terms.add(term)
    held.set(memory.threadId, terms)
  }
  return candidates.map(({ memory }) => {
    const covered = memory.threadId === null ? undefined : held.get(memory.threadId)
    return covered ? terms.reduce((sum, term) => sum + (covered.has(term) ? (worth.get(term) ?? 0) : 0), 0) : 0
  })
}

/** The mean of a conversation's three nearest lines. */
function threadMeaning(candidates: readonly Candidate[], meaning: readonly number[]): number[] {
  const byThread = Map.groupBy(candidates.keys(), (index) => candidates[index]?.memory.threadId ?? null)
  const means = new Map<string, number>()
  for (const [threadId, indexes] of byThread) {
    if (threadId === null) continue
    const best = indexes.map((index) => meaning[index] ?? 0).sort((a, b) => b - a)
    means.set(threadId, ((best[0] ?? 0) + (best[1] ?? 0) + (best[2] ?? 0)) / 3)
  }
  return candidates.map(({ memory }) => (memory.threadId === null ? 0 : (means.get(memory.threadId) ?? 0)))
}
