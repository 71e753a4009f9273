import type { Clock } from '../../base/clock.ts'
import type { Database } from '../../storage/database.ts'
import { type DecayPolicy, isFaded, strengthOf } from '../decay.ts'
import type { MemoryGraph } from '../graph.ts'
import type { Memories } from '../memories.ts'
import type { Memory, MemoryKind } from '../memory.ts'
import { type MemoryFilter, passesFilter } from '../memory-filter.ts'
import { standingWish } from '../standing-wish.ts'
import { type Candidate, candidateOf } from './candidate.ts'
import { matchDates } from './match-dates.ts'
import { type FindByMeaning, noMeaning } from './meaning.ts'
import { createMemoryTerms } from './memory-terms.ts'
import { otherNames } from './other-names.ts'
import { readQuestion } from './question.ts'
import { type Candidates, readCandidates } from './read-candidates.ts'
import { type Scene, signals } from './signals.ts'
import type { KnownSpeakers } from './speaker-names.ts'
import { type SignalName, weights } from './weights.ts'
import { windowWords } from './window-words.ts'

interface RecallQuery {
  userId: string
  text: string
  limit: number
  kinds?: readonly MemoryKind[] | undefined
  filter?: MemoryFilter | undefined
  /** `telling`, where nothing is said: only what something speaks for. `everything`: all that was looked at, in order. */
  reach?: 'telling' | 'everything' | undefined
  signal?: AbortSignal | undefined
}

/** Why a memory was found: what one ranker said of it, and what that added to its score. */
interface RecallSignal {
  name: SignalName
  /** 1 for the best of its list; absent for what is no list. */
  rank?: number
  /** Normalised per question: 0 to 1. */
  value: number
  /** The value times the signal's weight. */
  added: number
}

export interface RecalledMemory {
  memory: Memory
  /** Comparable only inside one answer. */
  score: number
  explain: {
    /** The largest first; what added nothing is left out. */
    signals: readonly RecallSignal[]
    /** How near it is in meaning, -1 to 1, where it is among the nearest. */
    cosine: number | null
    /** What the memory's priority has faded to. */
    strength: number
  }
}

/**
 * The one question to all kinds of memory. Best first; empty where nothing speaks for any memory: it never guesses.
 * No text can break it, no other user's memory can appear, and nothing superseded is among the answers. It calls no
 * language model. Without an embedding it works by words alone.
 */
export interface Recall {
  recall(query: RecallQuery): Promise<RecalledMemory[]>
}

/** A vector always has a nearest one. Sentences that have nothing to do with each other stay below this. */
const leastCosine = 0.56
/** A wish that holds is meant for more than it says. */
const leastCosineOfWish = 0.45
const bestInGraph = 5
const mostRelated = 20

export function createRecall(dependencies: {
  database: Database
  memories: Memories
  graph: MemoryGraph
  speakers: KnownSpeakers
  clock: Clock
  timeZone: string
  decay?: () => DecayPolicy
  findByMeaning?: FindByMeaning
}): Recall {
  const { database, memories, graph, speakers, clock, timeZone } = dependencies
  const { decay = () => 'time', findByMeaning = noMeaning } = dependencies

  const memoryTerms = createMemoryTerms()

  return {
    async recall({ userId, text, limit, kinds, filter = {}, reach = 'telling', signal }) {
      signal?.throwIfAborted()
      const now = clock.now()
      const policy = decay()
      const names = { speakers: await speakers.of(userId), otherNames: await otherNames(database, userId, text) }
      const question = readQuestion(text, { at: now, timeZone, ...names })
      const found = await readCandidates({ database, findByMeaning, memoryTerms }, { userId, question, signal })
      const state = { policy, now, cycle: policy === 'cycles' ? await memories.cycle(userId) : 0 }
      const related = await followGraph(userId, found)
      const all = [...found.all, ...related.candidates].filter(
        ({ memory }) =>
          (!kinds || kinds.includes(memory.kind)) && passesFilter(memory, filter) && !isFaded(memory, state),
      )
      const words = windowWords(question.terms, all, found.beside)
      const scene: Scene = { question, candidates: all, words, decay: state, related: related.weights }
      return rank(scene, { limit, reach })
    },
  }

  /** What hangs on the best of both lists. */
  async function followGraph(userId: string, { all }: Candidates) {
    const best = all.filter((candidate) => isAmongBest(candidate)).map(({ memory }) => memory.id)
    const related = await graph.related(userId, best, { depth: 1, limit: mostRelated })
    const known = new Set(all.map(({ memory }) => memory.id))
    const missing = related.map(({ id }) => id).filter((id) => !known.has(id))
    const added = (await memories.getMany(userId, missing)).filter((memory) => memory.supersededAt === null)
    return {
      candidates: added.map((memory) => candidateOf(memory, memoryTerms(memory))),
      weights: new Map(related.map(({ id, weight }) => [id, weight])),
    }
  }
}

function isAmongBest({ wordRank, meaningRank }: Candidate): boolean {
  return (
    (wordRank ?? Number.POSITIVE_INFINITY) <= bestInGraph || (meaningRank ?? Number.POSITIVE_INFINITY) <= bestInGraph
  )
}

function rank(scene: Scene, { limit, reach }: { limit: number; reach: 'telling' | 'everything' }): RecalledMemory[] {
  const { candidates, words, related, decay } = scene
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
    .filter(
      ({ candidate, index }) =>
        reach === 'everything' || speaksForIt(candidate, words.scores[index] ?? 0, related, scene),
    )
    .sort((a, b) => b.score - a.score || b.candidate.memory.number - a.candidate.memory.number)
    .slice(0, Math.max(0, limit))
    .map(({ candidate, index, score }) => ({
      memory: candidate.memory,
      score,
      explain: {
        signals: explain(lists, index, candidate),
        cosine: candidate.cosine ?? null,
        strength: strengthOf(candidate.memory, decay),
      },
    }))
}

/** A word of the question, here or beside it; its meaning; the graph; or the very days that were asked about. */
function speaksForIt(
  { memory, wordRank, cosine }: Candidate,
  wordScore: number,
  related: Scene['related'],
  { question }: Scene,
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
