export interface FinderThreadData {
  root: string
  closed: readonly string[]
  maxFiles: number
}

/** `find` answers from the index; `refresh` waits until the current state of the disk is known. */
export type FinderTask = { kind: 'find'; query: string; limit: number } | { kind: 'refresh' }
export type FinderRequest = { id: number } & FinderTask
export type FinderAnswer = { id: number } & FoundFiles

export interface FoundFiles extends FoundPaths {
  /** The scan is incomplete: a later request may find more. */
  isIndexing: boolean
  isCut: boolean
}

/** The best of many, best first: by score, then the shorter, then the earlier one. */
function createBestMatches(most: number) {
  const kept: { id: number; score: number; length: number }[] = []

  function wouldKeep(id: number, score: number, length: number): boolean {
    const worst = kept[most - 1]
    if (!worst) return true
    if (score !== worst.score) return score > worst.score
    return length !== worst.length ? length < worst.length : id < worst.id
  }

  function offer(id: number, score: number, length: number): void {
    if (!wouldKeep(id, score, length)) return
    kept.push({ id, score, length })
    kept.sort((a, b) => b.score - a.score || a.length - b.length || a.id - b.id)
    if (kept.length > most) kept.pop()
  }

  return { kept, wouldKeep, offer }
}

/**
 * A path as bytes for searching, one per UTF-16 unit: ASCII as it is, letters with marks as the plain letter, and all
 * other units share 128 values. Matches of shared values must be verified.
 */
function foldUnit(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code < 128) return code
  return plainLetters.get(code) ?? plainLetter(code) ?? 128 + (code % 128)
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

const plainLetters = new Map<number, number | undefined>()

function plainLetter(code: number): number | undefined {
  // Latin, and Latin Extended Additional: no other letter decomposes to an ASCII letter.
  if (code > 0x24f && (code < 0x1e00 || code > 0x1eff)) return undefined
  const first = String.fromCharCode(code).normalize('NFD').charCodeAt(0)
  const base = first < 128 ? first : undefined
  plainLetters.set(code, base)
  return base
}

const signBits: Readonly<Record<number, number>> = { 45: 27, 46: 28, 95: 29 }

/** The kinds of characters, as 31 bits: a path without one of the query's cannot match it. */
function bitOf(byte: number): number {
  const lower = byte >= 65 && byte <= 90 ? byte + 32 : byte
  if (lower >= 97 && lower <= 122) return 1 << (lower - 97)
  if (lower >= 48 && lower <= 57) return 1 << 26
  return 1 << (signBits[lower] ?? 30)
}

/** One word of a query: its characters in order, with anything in between. */
interface Term {
  /** Each character in its two case forms; identical if case counts. */
  lower: Uint8Array
  upper: Uint8Array
  bits: number
  each: Uint32Array
  hasSlash: boolean
  /** The term itself, if its bytes are ambiguous; such matches are verified. */
  exact: { text: string; isCaseSensitive: boolean } | undefined
}

const maxCharacters = 200

/** Case counts in a word with a capital letter. */
function parseTerm(word: string): Term {
  const isCaseSensitive = word !== word.toLowerCase()
  const lower = new Uint8Array(word.length)
  const upper = new Uint8Array(word.length)
  const each = new Uint32Array(word.length)
  let bits = 0
  for (let at = 0; at < word.length; at += 1) {
    const byte = foldUnit(word, at)
    const isLower = byte >= 97 && byte <= 122
    lower[at] = byte
    upper[at] = isLower && !isCaseSensitive ? byte - 32 : byte
    each[at] = bitOf(byte)
    bits |= bitOf(byte)
  }
  const isShared = lower.some((byte) => byte >= 128)
  const exact = isShared && !isAscii(word) ? { text: word, isCaseSensitive } : undefined
  return { lower, upper, bits, each, hasSlash: word.includes('/'), exact }
}

function isExactMatch({ exact }: Term, path: string): boolean {
  if (!exact) return true
  const text = exact.isCaseSensitive ? path : path.toLowerCase()
  let from = 0
  for (const character of exact.text) {
    const at = text.indexOf(character, from)
    // Plain characters were matched by their form.
    const isPlain = character.length === 1 && foldUnit(character, 0) < 128
    if (at < 0 && !isPlain) return false
    if (at >= 0) from = at + 1
  }
  return true
}

// The proportions of fzf: a match is worth more at the start of a word or path segment, and directly after the previous
// match; gaps cost, the first character of a gap most.
const forMatch = 16
const forGapStart = -3
const forGap = -1
const forBoundary = 8
const forPartStart = 9
const forCamel = 7
const forConsecutive = 4
const firstFactor = 2
/** For each match in the file name itself, which people remember best. */
const forName = 2

const white = 0
const sign = 1
const slash = 2
const lowerCase = 3
const upperCase = 4
const letter = 5
const digit = 6
const kinds = 7

const kindOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 47) return slash
  if (byte === 32 || byte === 9) return white
  if (byte >= 97 && byte <= 122) return lowerCase
  if (byte >= 65 && byte <= 90) return upperCase
  if (byte >= 48 && byte <= 57) return digit
  return byte >= 128 ? letter : sign
})

const bonusOf = Int8Array.from({ length: kinds * kinds }, (_, index) => {
  const before = Math.floor(index / kinds)
  const kind = index % kinds
  if (kind >= lowerCase) {
    if (before === slash) return forPartStart
    if (before === white || before === sign) return forBoundary
    if (before === lowerCase && kind === upperCase) return forCamel
    return before !== digit && kind === digit ? forCamel : 0
  }
  return forBoundary
})

interface Candidate {
  bytes: Uint8Array
  start: number
  end: number
  nameStart: number
  wordBits: number
}

const longest = 8_192
// Reused: this runs a hundred thousand times per keystroke.
const rows = [newRow(), newRow()] as const

/** For each match of one character: the best score that ends there, and the length of its run. */
function newRow() {
  const array = () => new Int32Array(longest)
  return { places: array(), scores: array(), runs: array(), count: 0 }
}

/** The maximum gain of one more character, and of one that starts a term. */
const maxForCharacter = forMatch + forName + forPartStart
const maxForTerm = maxForCharacter + forPartStart * (firstFactor - 1)

/**
 * An upper bound of a term's score on a path, without trying all matches; -1 if it does not match. Most paths of a
 * large tree match a short term, and nearly all of them can be skipped by it.
 */
function boundScore(term: Term, { bytes, start, end, nameStart, wordBits }: Candidate): number {
  const { lower, upper, each, hasSlash } = term
  const length = lower.length
  if (end - start > longest) return -1
  let at = start
  for (let index = 0; index < length; index += 1) {
    const low = lower[index]
    const up = upper[index]
    while (at < end && bytes[at] !== low && bytes[at] !== up) at += 1
    if (at === end) return -1
    at += 1
  }
  // As many of its last characters as the file name contains.
  let index = length - 1
  for (let place = end - 1; place >= nameStart && index >= 0; place -= 1) {
    if (bytes[place] === lower[index] || bytes[place] === upper[index]) index -= 1
  }
  const inName = forName * (length - 1 - index)
  // A match that starts before the file name skips at least the slash.
  const gap = index >= 0 && !hasSlash ? forGapStart : 0
  // Before a word start, no run can continue from one.
  let opening = 0
  while (opening < length && ((each[opening] as number) & wordBits) === 0) opening += 1
  const bonuses =
    opening === 0 ? forPartStart * (length + 1) : forConsecutive * (opening - 1) + forPartStart * (length - opening)
  return length * forMatch + bonuses + Math.max(0, inName + gap)
}

/** The best score of a term on a path. A gap costs by its length, so only the best way to each position matters. */
function scoreTerm({ lower, upper }: Term, { bytes, start, end, nameStart }: Candidate): number {
  let [row, before] = rows
  before.count = 0
  let best = 0
  for (let index = 0; index < lower.length; index += 1) {
    const low = lower[index]
    const up = upper[index]
    const { places, scores, runs, count } = before
    let filled = 0
    let seen = 0
    // The best score with a gap, as if the gap had started at the beginning.
    let fromGap = -longest
    best = 0
    for (let place = index === 0 ? start : (places[0] as number) + 1; place < end; place += 1) {
      const byte = bytes[place] as number
      if (byte !== low && byte !== up) continue
      const own = bonusAt(bytes, place, start)
      const worth = place >= nameStart ? forMatch + forName : forMatch
      let score = worth + (index === 0 ? own * firstFactor : own)
      let run = 1
      for (; seen < count && (places[seen] as number) < place - 1; seen += 1) {
        const ending = (scores[seen] as number) + (places[seen] as number)
        if (ending > fromGap) fromGap = ending
      }
      const afterGap = fromGap - place + forGapStart - 2 * forGap
      if (afterGap > 0) score += afterGap
      if (seen < count && places[seen] === place - 1) {
        const runBefore = runs[seen] as number
        const opening = bonusAt(bytes, place - runBefore, start)
        // A word start inside a run starts a new run.
        const isNew = own >= forBoundary && own > opening
        const bonus = isNew ? own : Math.max(own, forConsecutive, opening)
        const joined = (scores[seen] as number) + worth + bonus
        if (joined >= score) {
          score = joined
          run = isNew ? 1 : runBefore + 1
        }
      }
      row.places[filled] = place
      row.scores[filled] = score
      row.runs[filled] = run
      filled += 1
      if (score > best) best = score
    }
    row.count = filled
    const spare = before
    before = row
    row = spare
  }
  return best
}

function bonusAt(bytes: Uint8Array, place: number, start: number): number {
  const before = place === start ? slash : (kindOf[bytes[place - 1] as number] as number)
  return bonusOf[before * kinds + (kindOf[bytes[place] as number] as number)] as number
}

/**
 * Many paths in few arrays: a hundred thousand strings and objects would be slow and large. Ids are given in order and
 * never reused; a removed path keeps its id and matches nothing.
 */
export type PathStore = ReturnType<typeof createPathStore>

export function createPathStore() {
  // Paths whose bytes are ambiguous.
  const odd = new Map<number, string>()
  const store = {
    count: 0,
    removed: 0,
    bytes: Buffer.alloc(1 << 16),
    starts: new Uint32Array(1 << 10),
    nameStarts: new Uint32Array(1 << 10),
    /** The kinds of characters. Every path has at least one: zero marks a removed one. */
    bits: new Uint32Array(1 << 10),
    /** The same for characters at word starts. */
    wordBits: new Uint32Array(1 << 10),

    add(path: string): void {
      const id = store.count
      const start = store.starts[id] as number
      const end = start + path.length
      if (end > store.bytes.length) {
        store.bytes = Buffer.concat([store.bytes], Math.max(end, store.bytes.length * 2))
      }
      if (id + 1 >= store.starts.length) {
        for (const name of ['starts', 'nameStarts', 'bits', 'wordBits'] as const) {
          const smaller = store[name]
          store[name] = new Uint32Array(smaller.length * 2)
          store[name].set(smaller)
        }
      }
      const { bytes } = store
      let found = 0
      let atWords = 0
      for (let at = 0; at < path.length; at += 1) {
        const byte = foldUnit(path, at)
        bytes[start + at] = byte
        const bit = bitOf(byte)
        found |= bit
        if (bonusAt(bytes, start + at, start) > 0) atWords |= bit
      }
      if (!isAscii(path)) odd.set(id, path)
      store.bits[id] = found
      store.wordBits[id] = atWords
      store.nameStarts[id] = start + path.lastIndexOf('/') + 1
      store.starts[id + 1] = end
      store.count += 1
    },

    remove(id: number): void {
      if (store.bits[id] === 0) return
      store.bits[id] = 0
      odd.delete(id)
      store.removed += 1
    },

    pathOf: (id: number): string =>
      odd.get(id) ?? store.bytes.toString('latin1', store.starts[id], store.starts[id + 1]),
  }
  return store
}

interface FoundPaths {
  matches: { path: string; score: number }[]
  total: number
}

interface Known {
  query: string
  /** The matches among the paths of that time. */
  ids: Uint32Array
  bounds: Int32Array
  best: readonly number[]
  upTo: number
}

/** Enough for several users or windows, with their earlier queries. */
const maxKnown = 24
const maxKnownIds = 2_000_000

/** Searches one store. Further typing searches only earlier matches. */
export function createPathSearch(store: PathStore) {
  let known: Known[] = []

  /** Every match of a query also matches its prefix. */
  function narrowest(query: string): Known | undefined {
    const wider = known.filter((one) => query.startsWith(one.query))
    return wider.sort((a, b) => b.query.length - a.query.length)[0]
  }

  function remember(fresh: Known): void {
    known = [...known.filter(({ query }) => query !== fresh.query), fresh].slice(-maxKnown)
    let ids = known.reduce((sum, one) => sum + one.ids.length, 0)
    for (; ids > maxKnownIds && known.length > 1; known.shift()) ids -= known[0]?.ids.length ?? 0
  }

  return {
    search(text: string, limit: number): FoundPaths {
      const query = text.normalize('NFC').trimStart()
      // All of the words must match.
      const terms = query.slice(0, maxCharacters).split(/\s+/).filter(Boolean).map(parseTerm)
      if (terms.length === 0) return firstPaths(store, limit)
      const from = narrowest(query)
      const added = query.slice(from?.query.length ?? 0)
      const { ids, bounds, best } = matchesOf({ store, terms, from, limit, added })
      remember({ query, ids, bounds, best: best.map(({ id }) => id), upTo: store.count })
      const matches = best.map(({ id, score }) => ({ path: store.pathOf(id), score }))
      return { matches, total: ids.length }
    },
  }
}

function firstPaths(store: PathStore, limit: number): FoundPaths {
  const matches: FoundPaths['matches'] = []
  for (let id = 0; id < store.count && matches.length < limit; id += 1) {
    if (store.bits[id] !== 0) matches.push({ path: store.pathOf(id), score: 0 })
  }
  return { matches, total: store.count - store.removed }
}

interface Matching {
  store: PathStore
  terms: readonly Term[]
  from: Known | undefined
  added: string
  limit: number
}

function matchesOf({ store, terms, from, added, limit }: Matching) {
  const best = createBestMatches(limit)
  const { starts, nameStarts, bits, wordBits } = store
  const wanted = terms.reduce((all, term) => all | term.bits, 0)
  const mustLookTwice = terms.some(({ exact }) => exact)
  const candidate = { bytes: store.bytes, start: 0, end: 0, nameStart: 0, wordBits: 0 }
  const earlier = from?.ids ?? new Uint32Array(0)
  const since = from?.upTo ?? 0
  const ids = new Uint32Array(earlier.length + store.count - since)
  const bounds = new Int32Array(ids.length)
  let matched = 0

  /** The upper bound, or the score if it may be among the best; -1 if it does not match. */
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

  // Earlier best matches are likely still the best, which makes the bound effective early.
  const done = new Map<number, number>()
  for (const id of from?.best ?? []) done.set(id, consider(id, Number.POSITIVE_INFINITY))
  const newTerms = added.match(/\s\S/g)?.length ?? 0
  // The previous query may have ended with the space.
  const maxAdded = added.length * maxForCharacter + (newTerms + 1) * (maxForTerm - maxForCharacter)
  for (let at = 0; at < earlier.length; at += 1) {
    const id = earlier[at] as number
    keep(id, done.get(id) ?? consider(id, (from?.bounds[at] as number) + maxAdded))
  }
  for (let id = since; id < store.count; id += 1) keep(id, consider(id, Number.POSITIVE_INFINITY))
  return { ids: ids.slice(0, matched), bounds: bounds.slice(0, matched), best: best.kept }
}
