import { createBestMatches } from './best-matches.ts'
import { isExactMatch, parseQuery, type Term } from './parse-query.ts'
import type { PathStore } from './path-store.ts'
import { boundScore, mostForCharacter, mostForTerm, scoreTerm } from './score-term.ts'

interface FoundPath {
  path: string
  score: number
}

export interface FoundPaths {
  /** The best first. */
  matches: FoundPath[]
  /** How many match; more than are listed. */
  total: number
}

/** Searches one store. Whoever types on searches only in what matched so far. */
interface PathSearch {
  search(query: string, limit: number): FoundPaths
}

interface Known {
  query: string
  /** What matched of the paths that there were then. */
  ids: Uint32Array
  /** The most that each of them can have scored. */
  bounds: Int32Array
  /** The best of them. */
  best: readonly number[]
  upTo: number
}

/** Several people or windows, and the way back with each. */
const mostKnown = 24
const mostKnownIds = 2_000_000

export function createPathSearch(store: PathStore): PathSearch {
  // The latest last.
  let known: Known[] = []

  /** Every match of a query is one of the query that it goes on from. */
  function narrowest(query: string): Known | undefined {
    return known
      .filter((one) => query.startsWith(one.query))
      .reduce<Known | undefined>((best, one) => (best && best.query.length >= one.query.length ? best : one), undefined)
  }

  function remember(fresh: Known): void {
    known = [...known.filter(({ query }) => query !== fresh.query), fresh].slice(-mostKnown)
    let ids = known.reduce((sum, one) => sum + one.ids.length, 0)
    for (; ids > mostKnownIds && known.length > 1; known.shift()) ids -= known[0]?.ids.length ?? 0
  }

  return {
    search(text, limit) {
      const query = text.normalize('NFC').trimStart()
      const terms = parseQuery(query)
      if (terms.length === 0) return firstPaths(store, limit)
      const from = narrowest(query)
      const { ids, bounds, best } = matchesOf({
        store,
        terms,
        from,
        limit,
        added: query.slice(from?.query.length ?? 0),
      })
      remember({ query, ids, bounds, best: best.map(({ id }) => id), upTo: store.count })
      const matches = best.map(({ id, score }) => ({ path: store.pathOf(id), score }))
      return { matches, total: ids.length }
    },
  }
}

function firstPaths(store: PathStore, limit: number): FoundPaths {
  const matches: FoundPath[] = []
  for (let id = 0; id < store.count && matches.length < limit; id += 1) {
    if (store.isThere(id)) matches.push({ path: store.pathOf(id), score: 0 })
  }
  return { matches, total: store.count - store.removed }
}

interface Matching {
  store: PathStore
  terms: readonly Term[]
  from: Known | undefined
  /** What the query has more than that one. */
  added: string
  limit: number
}

function matchesOf({ store, terms, from, added, limit }: Matching) {
  const best = createBestMatches(limit)
  const starts = store.starts()
  const nameStarts = store.nameStarts()
  const bits = store.bits()
  const wordBits = store.wordBits()
  const wanted = terms.reduce((all, term) => all | term.bits, 0)
  const mustLookTwice = terms.some(({ exact }) => exact)
  const candidate = { bytes: store.bytes(), start: 0, end: 0, nameStart: 0, wordBits: 0 }
  const earlier = from?.ids ?? new Uint32Array(0)
  const since = from?.upTo ?? 0
  const ids = new Uint32Array(earlier.length + store.count - since)
  const bounds = new Int32Array(ids.length)
  let matched = 0

  /** The most that it can score, and where it may be among the best, its score; -1 where it does not match. */
  function consider(id: number, most: number): number {
    if (((bits[id] as number) & wanted) !== wanted) return -1
    candidate.start = starts[id] as number
    candidate.end = starts[id + 1] as number
    candidate.nameStart = nameStarts[id] as number
    candidate.wordBits = wordBits[id] as number
    let bound = 0
    for (const term of terms) {
      const own = boundScore(term, candidate)
      if (own < 0) return -1
      bound += own
    }
    if (mustLookTwice) {
      const path = store.pathOf(id)
      if (!terms.every((term) => isExactMatch(term, path))) return -1
    }
    if (bound > most) bound = most
    const length = candidate.end - candidate.start
    if (!best.wouldKeep(id, bound, length)) return bound
    let score = 0
    for (const term of terms) score += scoreTerm(term, candidate)
    best.offer(id, score, length)
    return score
  }

  function keep(id: number, bound: number): void {
    if (bound < 0) return
    ids[matched] = id
    bounds[matched] = bound
    matched += 1
  }

  // What was best is likely to be so still, and whatever cannot come up to it is soon done with.
  const done = new Map<number, number>()
  for (const id of from?.best ?? []) done.set(id, consider(id, Number.POSITIVE_INFINITY))
  const mostAdded = mostForAdded(added)
  for (let at = 0; at < earlier.length; at += 1) {
    const id = earlier[at] as number
    keep(id, done.get(id) ?? consider(id, (from?.bounds[at] as number) + mostAdded))
  }
  for (let id = since; id < store.count; id += 1) keep(id, consider(id, Number.POSITIVE_INFINITY))
  return { ids: ids.slice(0, matched), bounds: bounds.slice(0, matched), best: best.list() }
}

function mostForAdded(added: string): number {
  const newTerms = added.match(/\s\S/g)?.length ?? 0
  // The query before may have ended with the space.
  return added.length * mostForCharacter + (newTerms + 1) * (mostForTerm - mostForCharacter)
}
