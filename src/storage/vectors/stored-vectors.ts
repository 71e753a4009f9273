import { FamiliarError } from '../../protocol/error.ts'
import { vectorNumbers } from '../vector-bytes.ts'
import type { VectorMatch } from '../vector-search.ts'
import { createPlainKernel } from './plain-kernel.ts'
import type { VectorKernel } from './vector-kernel.ts'
import { type Candidate, createVectorSet, type VectorSet } from './vector-set.ts'
import type { VectorFollower, VectorSource } from './vector-source.ts'
import { createWasmKernel } from './wasm-kernel.ts'
import { cosine, toWideQuestion, type WideQuestion } from './wide-question.ts'

export interface VectorQuestion {
  userId: string
  model: string
  vector: Float32Array
  limit: number
}

export interface VectorMemory {
  /** What the vectors in memory may take in all. Those of the question at hand are kept in any case. */
  memoryBytes: number
  /** A user's vectors are compared whole up to so many of them; where there are more, roughly at first. */
  exactLimit: number
}

/** One question at a time: the next one is asked when the answer is there. */
export interface StoredVectors {
  search(question: VectorQuestion): Promise<VectorMatch[]>
}

// What a rough look finds best is looked at again, whole: coarse-vectors.ts says how much of the true best is among it.
const candidatesPerMatch = 4
const fewestCandidates = 400

interface Followed {
  set?: VectorSet
  follower: VectorFollower
}

/**
 * The search itself. The vectors of a user and model are read once, and then whatever was added since. What was deleted
 * is noticed when it is about to be an answer: a place is never given twice, so one that is empty was deleted, or
 * replaced by a newer one.
 */
export function createStoredVectors(
  source: VectorSource,
  { memoryBytes, exactLimit, createKernel = createFastestKernel }: VectorMemory & { createKernel?: () => VectorKernel },
): StoredVectors {
  /** By model and user, the least recently used first. */
  const followed = new Map<string, Followed>()

  return {
    async search({ userId, model, vector, limit }) {
      if (!vector.every(Number.isFinite)) throw badQuestion('must be of finite numbers')
      const question = toWideQuestion(vector)
      // A question of zeros has no direction: nothing is nearer to it than anything else.
      if (limit < 1 || question.inverseLength === 0) return []
      for (;;) {
        const set = await upToDate(userId, model)
        if (!set) return []
        if (set.dimensions !== vector.length) {
          throw badQuestion(`has ${vector.length} dimensions, the vectors of ${model} have ${set.dimensions}`)
        }
        const candidates = set.nearest(question, set.isExact ? limit : candidatesFor(limit))
        const { matches, gone } = await (set.isExact ? keepPresent(candidates) : lookAgain(question, candidates))
        if (gone.length === 0) return bestFirst(matches).slice(0, limit)
        // Where most are gone, many more are: reading all anew is quicker than stumbling over each of them.
        if (gone.length > candidates.length / 2) followed.delete(keyOf(userId, model))
        else set.remove(gone)
      }
    },
  }

  async function upToDate(userId: string, model: string): Promise<VectorSet | undefined> {
    const key = keyOf(userId, model)
    const known: Followed = followed.get(key) ?? { follower: source.follow(userId, model) }
    // Back when all of it was read: what failed halfway is read anew.
    followed.delete(key)
    for await (const rows of known.follower.newer()) {
      for (const { place, number, vector: bytes } of rows) {
        const vector = vectorNumbers(bytes)
        known.set ??= createVectorSet({ dimensions: vector.length, exactLimit, createKernel })
        if (vector.length !== known.set.dimensions) throw oddVector(number, model, vector.length, known.set.dimensions)
        known.set.add({ place, number, vector })
      }
    }
    if (!known.set) return undefined
    followed.set(key, known)
    forgetLeastUsed()
    return known.set
  }

  function forgetLeastUsed(): void {
    let bytes = 0
    for (const [key, { set }] of [...followed].reverse()) {
      const own = set?.bytes ?? 0
      bytes += own
      if (bytes > memoryBytes && bytes > own) followed.delete(key)
    }
  }

  async function keepPresent(candidates: readonly Candidate[]): Promise<Looked> {
    const there = await source.present(candidates.map(({ place }) => place))
    const present = candidates.filter(({ place }) => there.has(place))
    return {
      matches: present.map(({ number, score }) => ({ number, score })),
      gone: candidates.filter(({ place }) => !there.has(place)),
    }
  }

  /** A rough look chose them: their scores come from the vectors themselves. */
  async function lookAgain(question: WideQuestion, candidates: readonly Candidate[]): Promise<Looked> {
    const vectors = await source.read(candidates.map(({ place }) => place))
    const matches: VectorMatch[] = []
    const gone: Candidate[] = []
    for (const candidate of candidates) {
      const vector = vectors.get(candidate.place)
      if (vector) matches.push({ number: candidate.number, score: cosine(question, vectorNumbers(vector)) })
      else gone.push(candidate)
    }
    return { matches, gone }
  }
}

interface Looked {
  matches: VectorMatch[]
  /** Deleted since they were read. */
  gone: Candidate[]
}

function createFastestKernel(): VectorKernel {
  return createWasmKernel() ?? createPlainKernel()
}

function candidatesFor(limit: number): number {
  return Math.max(fewestCandidates, limit * candidatesPerMatch)
}

function bestFirst(matches: VectorMatch[]): VectorMatch[] {
  return matches.sort((a, b) => b.score - a.score || b.number - a.number)
}

function keyOf(userId: string, model: string): string {
  return JSON.stringify([userId, model])
}

function badQuestion(why: string): FamiliarError {
  return new FamiliarError('bad_request', `The vector of a question ${why}.`)
}

function oddVector(number: number, model: string, dimensions: number, usual: number): FamiliarError {
  const message = `The vector of memory ${number} has ${dimensions} dimensions, others of ${model} have ${usual}.`
  return new FamiliarError('internal', message)
}
