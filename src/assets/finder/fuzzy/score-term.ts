import type { Term } from './parse-query.ts'

// The proportions are those that people know from fzf: a match is worth more where a word or a part of the path begins,
// and where it goes on from the match before; gaps cost, the first character of a gap most.
const forMatch = 16
const forGapStart = -3
const forGap = -1
const forBoundary = 8
const forPartStart = 9
const forCamel = 7
const forConsecutive = 4
const firstFactor = 2
/** For each character that matches in the name of the file itself: that is what people remember of a path. */
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
  /** Where the name of the file begins. */
  nameStart: number
  /** The kinds of characters that a word begins with. */
  wordBits: number
}

const longest = 8_192
// Reused: this runs a hundred thousand times a keystroke.
const rows = [newRow(), newRow()] as const

/** Where one character of a term matches: the best score that ends there, and how many match in a row then. */
interface Row {
  places: Int32Array
  scores: Int32Array
  runs: Int32Array
  count: number
}

function newRow(): Row {
  const array = () => new Int32Array(longest)
  return { places: array(), scores: array(), runs: array(), count: 0 }
}

/** The most that one character more can add, and the most where it begins a term of its own. */
export const mostForCharacter = forMatch + forName + forPartStart
export const mostForTerm = mostForCharacter + forPartStart * (firstFactor - 1)

/**
 * The most that a term can score on a path, told without looking at all ways to match it; -1 where it does not match.
 * Most paths of a large tree match a short term, and nearly all of them can be left at that.
 */
export function boundScore(term: Term, { bytes, start, end, nameStart, wordBits }: Candidate): number {
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
  // As many of its last characters as the name of the file has.
  let index = length - 1
  for (let place = end - 1; place >= nameStart && index >= 0; place -= 1) {
    if (bytes[place] === lower[index] || bytes[place] === upper[index]) index -= 1
  }
  const inName = forName * (length - 1 - index)
  // What matches partly before the name leaves at least the slash out.
  const gap = index >= 0 && !hasSlash ? forGapStart : 0
  // Until a character that can begin a word, none can go on from one that has.
  let opening = 0
  while (opening < length && ((each[opening] as number) & wordBits) === 0) opening += 1
  const bonuses =
    opening === 0 ? forPartStart * (length + 1) : forConsecutive * (opening - 1) + forPartStart * (length - opening)
  return length * forMatch + bonuses + Math.max(0, inName + gap)
}

/**
 * How well a term that matches a path does so: the best of all ways to match it. In the time of the term's length times
 * the path's: a gap costs by its length, so that of all ways to one place only the best need be known.
 */
export function scoreTerm({ lower, upper }: Term, { bytes, start, end, nameStart }: Candidate): number {
  let [row, before]: readonly [Row, Row] = rows
  before.count = 0
  let best = 0
  for (let index = 0; index < lower.length; index += 1) {
    const low = lower[index]
    const up = upper[index]
    const { places, scores, runs, count } = before
    let filled = 0
    let seen = 0
    // Of all ways that leave a gap: their score as if the gap had begun at the start of everything.
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
        // A word that begins inside a run begins a run of its own.
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

/** What it is worth that a match stands at this place. */
export function bonusAt(bytes: Uint8Array, place: number, start: number): number {
  const before = place === start ? slash : (kindOf[bytes[place - 1] as number] as number)
  return bonusOf[before * kinds + (kindOf[bytes[place] as number] as number)] as number
}
