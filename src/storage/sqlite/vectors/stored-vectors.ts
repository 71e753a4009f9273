import type { DatabaseSync } from 'node:sqlite'
import { FamiliarError } from '../../../protocol/error.ts'
import { vectorNumbers } from '../../vector-bytes.ts'
import type { VectorMatch } from '../../vector-search.ts'
import { createPlainKernel } from './plain-kernel.ts'
import type { VectorKernel } from './vector-kernel.ts'
import { type Candidate, createVectorSet, type VectorSet } from './vector-set.ts'
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

export interface StoredVectors {
  search(question: VectorQuestion): VectorMatch[]
}

// What a rough look finds best is looked at again, whole: coarse-vectors.ts says how much of the true best is among it.
const candidatesPerMatch = 4
const fewestCandidates = 400
const rowsPerPage = 2000

/**
 * The search itself, on a connection of its own, which is busy for as long as a search takes.
 *
 * The vectors of a user and model are read once, and then whatever has a higher place than the last one seen. What was
 * deleted is noticed when it is about to be an answer: a place is never given twice, so one that is empty was deleted,
 * or replaced by a newer one.
 */
export function createStoredVectors(
  raw: DatabaseSync,
  { memoryBytes, exactLimit, createKernel = createFastestKernel }: VectorMemory & { createKernel?: () => VectorKernel },
): StoredVectors {
  const newer = raw.prepare(`
    select place, number, vector from memory_vectors
    where model = ? and user_id = ? and place > ? order by place limit ${rowsPerPage}`)
  const stillThere = raw.prepare('select place from memory_vectors where place in (select value from json_each(?))')
  const atPlaces = raw.prepare(
    'select place, vector from memory_vectors where place in (select value from json_each(?))',
  )
  /** By model and user, the least recently used first. */
  const followed = new Map<string, { set: VectorSet; lastPlace: number }>()

  return {
    search({ userId, model, vector, limit }) {
      if (!vector.every(Number.isFinite)) throw badQuestion('must be of finite numbers')
      const question = toWideQuestion(vector)
      // A question of zeros has no direction: nothing is nearer to it than anything else.
      if (limit < 1 || question.inverseLength === 0) return []
      for (;;) {
        const set = upToDate(userId, model)
        if (!set) return []
        if (set.dimensions !== vector.length) {
          throw badQuestion(`has ${vector.length} dimensions, the vectors of ${model} have ${set.dimensions}`)
        }
        const candidates = set.nearest(question, set.isExact ? limit : candidatesFor(limit))
        const { matches, gone } = set.isExact ? keepPresent(candidates) : lookAgain(question, candidates)
        if (gone.length === 0) return bestFirst(matches).slice(0, limit)
        // Where most are gone, many more are: reading all anew is quicker than stumbling over each of them.
        if (gone.length > candidates.length / 2) followed.delete(keyOf(userId, model))
        else set.remove(gone)
      }
    },
  }

  function upToDate(userId: string, model: string): VectorSet | undefined {
    const key = keyOf(userId, model)
    let known = followed.get(key)
    for (let isLastPage = false; !isLastPage; ) {
      const rows = newer.all(model, userId, known?.lastPlace ?? 0) as unknown as NewerRow[]
      for (const { place, number, vector: bytes } of rows) {
        const vector = vectorNumbers(bytes)
        known ??= { set: createVectorSet({ dimensions: vector.length, exactLimit, createKernel }), lastPlace: 0 }
        if (vector.length !== known.set.dimensions) throw oddVector(number, model, vector.length, known.set.dimensions)
        known.set.add({ place, number, vector })
        known.lastPlace = place
      }
      isLastPage = rows.length < rowsPerPage
    }
    if (!known) return undefined
    followed.delete(key)
    followed.set(key, known)
    forgetLeastUsed()
    return known.set
  }

  function forgetLeastUsed(): void {
    let bytes = 0
    for (const [key, { set }] of [...followed].reverse()) {
      bytes += set.bytes
      if (bytes > memoryBytes && bytes > set.bytes) followed.delete(key)
    }
  }

  function keepPresent(candidates: readonly Candidate[]): Looked {
    const rows = stillThere.all(placesOf(candidates)) as unknown as { place: number }[]
    const there = new Set(rows.map(({ place }) => place))
    const present = candidates.filter(({ place }) => there.has(place))
    return {
      matches: present.map(({ number, score }) => ({ number, score })),
      gone: candidates.filter(({ place }) => !there.has(place)),
    }
  }

  /** A rough look chose them: their scores come from the vectors themselves. */
  function lookAgain(question: WideQuestion, candidates: readonly Candidate[]): Looked {
    const rows = atPlaces.all(placesOf(candidates)) as unknown as { place: number; vector: Uint8Array }[]
    const vectors = new Map(rows.map(({ place, vector }) => [place, vector]))
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

function placesOf(candidates: readonly Candidate[]): string {
  return JSON.stringify(candidates.map(({ place }) => place))
}

interface NewerRow {
  place: number
  number: number
  vector: Uint8Array
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
