import type { Clock } from '../../base/clock.ts'
import type { Database } from '../../storage/database.ts'
import { matchDates } from '../dates.ts'
import { type DecayPolicy, type DecayState, isFaded, strengthOf } from '../decay.ts'
import type { MemoryGraph } from '../graph.ts'
import { isGateQuestion } from '../learning/gate-questions.ts'
import type { Memories } from '../memories.ts'
import { type Memory, type MemoryFilter, type MemoryKind, passesFilter, readAllowed, standingWish } from '../memory.ts'
import { allNamesOf } from '../names.ts'
import { notePassages } from '../note-passages.ts'
import { contentWords, foldText, termsOf } from '../words.ts'
import { type Candidates, readCandidates } from './candidates.ts'
import { type FindByMeaning, noMeaning } from './meaning.ts'
import { bestByTerms, createMemoryTerms, type Question, readQuestion } from './question.ts'
import { type SignalName, weights } from './weights.ts'
import { type Candidate, type KnownSpeakers, type WindowWords, windowWords } from './window-words.ts'

interface RecallQuery {
  userId: string
  text: string
  limit: number
  kinds?: readonly MemoryKind[] | undefined
  filter?: MemoryFilter | undefined
  /** Default `telling`: only memories with some evidence. `everything`: all candidates, ranked. */
  reach?: 'telling' | 'everything' | undefined
  signal?: AbortSignal | undefined
}

/** Why a memory was found: one ranker's value, and its contribution to the score. */
interface RecallSignal {
  name: SignalName
  /** 1 for the best of its list; undefined if there is no list. */
  rank?: number
  /** Normalized per question: 0 to 1. */
  value: number
  /** The value times the signal's weight. */
  added: number
}

export interface RecalledMemory {
  memory: Memory
  /** The passage of a long memory that matches best. Undefined if the whole is short. */
  passage?: string | undefined
  /** Comparable only within one result. */
  score: number
  explain: {
    /** The largest first; zero contributions are omitted. */
    signals: readonly RecallSignal[]
    /** Similarity in meaning, -1 to 1, if it is among the nearest. */
    cosine: number | null
    strength: number
  }
}

/**
 * The single search over all kinds of memory. Best first; empty if there is no evidence for any memory: it never
 * guesses. No text can break it, other users' memories cannot appear, and superseded ones are not among the results. It
 * calls no language model. Without an embedding it uses words only.
 */
export type Recall = ReturnType<typeof createRecall>

/** A vector always has a nearest one. Unrelated sentences stay below this. */
const leastCosine = 0.56
/** A standing wish applies to more than its own words. */
const leastCosineOfWish = 0.45
const bestInGraph = 5
const maxRank = Number.POSITIVE_INFINITY
const maxRelated = 20

export function createRecall(dependencies: {
  database: Database
  memories: Memories
  graph: MemoryGraph
  speakers: KnownSpeakers
  clock: Clock
  timeZone: string
  decay?: () => DecayPolicy
  findByMeaning?: FindByMeaning
}) {
  const { database, memories, graph, speakers, clock, timeZone } = dependencies
  const { decay = () => 'time', findByMeaning = noMeaning } = dependencies

  const memoryTerms = createMemoryTerms()

  return {
    async recall(query: RecallQuery): Promise<RecalledMemory[]> {
      const { userId, text, limit, kinds, filter = {}, reach = 'telling', signal } = query
      signal?.throwIfAborted()
      const now = clock.now()
      const policy = decay()
      const names = { speakers: await speakers.of(userId), otherNames: await otherNames(database, userId, text) }
      const question = readQuestion(text, { at: now, timeZone, ...names })
      const allowed = await readAllowed(database.read, { userId, kinds, filter })
      if (allowed?.few?.length === 0) return []
      const asked = { userId, question, allowed, signal }
      const found = await readCandidates({ database, findByMeaning, memoryTerms }, asked)
      const state = { policy, now, cycle: policy === 'cycles' ? await memories.cycle(userId) : 0 }
      const related = await followGraph(userId, found, question.terms)
      const all = [...found.all, ...related.candidates].filter(
        ({ memory }) =>
          (!kinds || kinds.includes(memory.kind)) &&
          passesFilter(memory, filter) &&
          !isFaded(memory, state) &&
          !isGateQuestion(memory),
      )
      const words = windowWords(question.terms, all, found.beside)
      const scene: Scene = { question, candidates: all, words, decay: state, related: related.weights }
      return rank(scene, { limit, reach })
    },
  }

  async function followGraph(userId: string, { all }: Candidates, terms: readonly string[]) {
    const best = all
      .filter(({ wordRank = maxRank, meaningRank = maxRank }) => Math.min(wordRank, meaningRank) <= bestInGraph)
      .map(({ memory }) => memory.id)
    const related = await graph.related(userId, best, { depth: 1, limit: maxRelated })
    const known = new Set(all.map(({ memory }) => memory.id))
    const missing = related.map(({ id }) => id).filter((id) => !known.has(id))
    const added = (await memories.getMany(userId, missing)).filter((memory) => memory.supersededAt === null)
    return {
      candidates: added.map((memory): Candidate => ({ memory, terms: memoryTerms(memory, terms) })),
      weights: new Map(related.map(({ id, weight }) => [id, weight])),
    }
  }
}

function rank(scene: Scene, { limit, reach }: { limit: number; reach: 'telling' | 'everything' }): RecalledMemory[] {
  const { candidates, words, decay } = scene
  const lists = Object.entries(signals).map(([name, signal]) => ({
    name: name as SignalName,
    weight: weights[name as SignalName],
    values: signal(scene),
  }))
  return candidates
    .map((candidate, index) => ({
      candidate,
      index,
      score: lists.reduce((sum, { weight, values }) => sum + weight * (values[index] ?? 0), 0),
    }))
    .filter(({ candidate, index }) => reach === 'everything' || speaksForIt(candidate, words.scores[index] ?? 0, scene))
    .sort((a, b) => b.score - a.score || b.candidate.memory.number - a.candidate.memory.number)
    .slice(0, Math.max(0, limit))
    .map(({ candidate, index, score }) => ({
      memory: candidate.memory,
      ...passageOf(candidate, scene.question.terms),
      score,
      explain: {
        signals: explain(lists, index, candidate),
        cosine: candidate.cosine ?? null,
        strength: strengthOf(candidate.memory, decay),
      },
    }))
}

/** The passage with most words of the question; if none has any, the nearest in meaning. */
function passageOf({ memory, part = 0 }: Candidate, terms: readonly string[]): { passage?: string } {
  const passages = notePassages(memory.content)
  if (passages.length === 1) return {}
  const best = bestByTerms(passages.map(termsOf), terms)
  const passage = passages[best.count > 0 ? best.index : part]
  return passage === undefined ? {} : { passage }
}

/** Evidence: a word of the question, here or next to it; its meaning; the graph; or the requested days. */
function speaksForIt(
  { memory, wordRank, cosine }: Candidate,
  wordScore: number,
  { question, related }: Scene,
): boolean {
  const enough = standingWish(memory) > 0 ? leastCosineOfWish : leastCosine
  if (wordRank !== undefined || wordScore > 0 || (cosine ?? 0) >= enough || related.has(memory.id)) return true
  return question.dates !== undefined && question.terms.length === 0 && matchDates(memory, question.dates) > 0
}

function explain(
  lists: readonly { name: SignalName; weight: number; values: ArrayLike<number> }[],
  index: number,
  { wordRank, meaningRank }: Candidate,
): RecallSignal[] {
  const ranks: Partial<Record<SignalName, number | undefined>> = { words: wordRank, meaning: meaningRank }
  return lists
    .map(({ name, weight, values }) => {
      const value = values[index] ?? 0
      const place = ranks[name]
      return { name, ...(place !== undefined && { rank: place }), value, added: value * weight }
    })
    .filter(({ added }) => added !== 0)
    .sort((a, b) => Math.abs(b.added) - Math.abs(a.added))
}

const tagWeight = 0.3
const contentWeight = 0.2
const recencyWeight = 0.2
const recentMs = 24 * 60 * 60 * 1_000

/**
 * Tags before content before freshness: 0.3 for each word of the question in the tags, 0.2 for each in the content, up
 * to 0.2 for use in the last day. Weak alone; kept as one signal among others, because it covers tags.
 */
export function classicScore(memory: Memory, terms: readonly string[], asked: readonly string[], now: number): number {
  const tags = memory.tags.join(' ').toLowerCase()
  const matches = asked.reduce((sum, term) => {
    const inTags = tags.includes(term) ? tagWeight : 0
    return sum + inTags + (terms.includes(term) ? contentWeight : 0)
  }, 0)
  const freshness = Math.max(0, 1 - Math.max(0, now - memory.usedAt) / recentMs)
  return matches + freshness * recencyWeight
}

const readCharacters = 1_000
const maxWords = 32
/** Words per name: "my aunt May". */
const maxNameLength = 3
const maxOtherNames = 16
const possessive = /'s(?![\p{L}\p{N}])/gu
const word = /[\p{L}\p{N}\p{M}]+(?:['.-][\p{L}\p{N}\p{M}]+)*/gu

/**
 * Other names of the people in a text, through all their aliases: a question about "Mum" finds memories about Greta.
 * Empty for most texts, after one query.
 */
export async function otherNames(database: Database, userId: string, text: string): Promise<string[]> {
  const named = namesIn(text)
  if (named.size === 0) return []
  // Two queries: with an `or` SQLite would scan all of the user's names.
  const known = await Promise.all([
    knownNames(database, userId, 'alias_key', [...named]),
    knownNames(database, userId, 'entity_key', [...named]),
  ])
  const others = new Map<string, string>()
  for (const key of new Set(known.flat())) {
    for (const [otherKey, other] of await allNamesOf(database.read, userId, key)) {
      if (!named.has(otherKey)) others.set(otherKey, other)
    }
  }
  return [...others.values()].slice(0, maxOtherNames)
}

async function knownNames(
  database: Database,
  userId: string,
  by: 'alias_key' | 'entity_key',
  keys: readonly string[],
): Promise<string[]> {
  const rows = await database.read
    .selectFrom('entity_aliases')
    .select(by)
    .distinct()
    .where('user_id', '=', userId)
    .where(by, 'in', keys)
    .limit(maxOtherNames)
    .execute()
  return rows.map((row) => row[by])
}

/** Possible names in the text, as keys: each word, and adjacent words. */
function namesIn(text: string): Set<string> {
  const plain = foldText(text.slice(0, readCharacters)).replaceAll(possessive, '')
  const words = (plain.match(word) ?? []).slice(0, maxWords)
  // "I" and "me" are everywhere, and "will" is seldom a person.
  const isTelling = words.map((one) => contentWords(one).length > 0)
  const names = new Set<string>()
  for (let length = 1; length <= maxNameLength; length += 1) {
    for (let start = 0; start + length <= words.length; start += 1) {
      if (isTelling.slice(start, start + length).includes(true)) names.add(words.slice(start, start + length).join(' '))
    }
  }
  return names
}

interface Scene {
  question: Question
  candidates: readonly Candidate[]
  words: WindowWords
  decay: DecayState
  /** Memories related to the best, with the weight of the path. */
  related: ReadonlyMap<string, number>
}

/** One signal for all candidates: 0 to 1 each. */
type Signal = (scene: Scene) => ArrayLike<number>

const hourMs = 60 * 60 * 1_000
const recencyHalfLifeMs = 30 * 24 * hourMs
const slightLength = 80
const usualLength = 120
const longLength = 800
const maxQuestionLength = 500
const manyPassages = 8
const speaksOfSelf = /\b(?:I|I['’](?:m|ve|d|ll)|my|we|our)\b/
const speaksOfNumber =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|first|second|third|dozen|couple)\b/i

const signals: Record<SignalName, Signal> = {
  meaning: ({ candidates }) => betweenExtremes(withFloor(candidates)),
  words: ({ words }) => shareOfBest(words.scores),
  'thread words': ({ candidates, words, question }) => shareOfBest(threadWords(candidates, words, question.terms)),
  'thread meaning': ({ candidates }) => threadMeaning(candidates, betweenExtremes(withFloor(candidates))),
  dates: each((memory, { question: { dates } }) => (dates ? matchDates(memory, dates) : 0)),
  speaker: each(({ speaker }, { question }) => Number(speaker !== null && question.speakers.includes(speaker))),
  role: each(({ speaker }, { question }) => Number(speaker !== 'assistant' || question.asksForReply)),
  number: each(({ content }, { question }) => Number(question.asksHowMany && speaksOfNumber.test(content))),
  // Most questions are about the user.
  self: each(({ content }) => Number(speaksOfSelf.test(content))),
  // Notes stored on purpose, compared with mere conversation.
  standing: each(standingWish),
  kept: each(({ kind }) => Number(kind !== 'chunk')),
  graph: each(({ id }, { related }) => related.get(id) ?? 0),
  tags: ({ candidates, question, decay }) =>
    shareOfBest(candidates.map(({ memory, terms }) => classicScore(memory, terms, question.terms, decay.now))),
  strength: each((memory, { decay }) => strengthOf(memory, decay)),
  recency: each(({ createdAt }, { decay }) => 2 ** (-Math.max(0, decay.now - createdAt) / recencyHalfLifeMs)),
  // A question seldom answers a question.
  'asks itself': each(({ content }) => Number(content.length <= maxQuestionLength && content.endsWith('?'))),
  // Greetings and thanks.
  'says little': each(({ content }) => Math.max(0, 1 - content.length / slightLength)),
  // The same space holds several short memories or one long one. Long text of the user is an exception.
  'is long': each((memory) => ofProse(memory, logShare(memory.content.length / usualLength, longLength / usualLength))),
  // A passage of long prose says less than a complete line, and has many similar ones.
  'is cut': each(({ passages }) => Number(passages > 1)),
  'has many passages': each((memory) => ofProse(memory, logShare(memory.passages, manyPassages))),
}

function each(value: (memory: Memory, scene: Scene) => number): Signal {
  return (scene) => scene.candidates.map(({ memory }) => value(memory, scene))
}

/** Only for the assistant's words. */
function ofProse({ speaker }: Memory, value: number): number {
  return speaker === 'assistant' ? value : 0
}

/** 0 for 1 and less, 1 for `most` and more, logarithmic in between. */
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

/** Memories that are not among the nearest count as far as the farthest of them. */
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
