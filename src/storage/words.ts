import { sha256 } from '../base/ids.ts'

/**
 * The inverse document frequency of BM25, as in Lucene: above zero for every word. `holding` of `texts` texts contain
 * the word.
 */
export function wordWeight(holding: number, texts: number): number {
  return Math.log(1 + (texts - holding + 0.5) / (holding + 0.5))
}

const lengthWeight = 0.36
const usualWords = 30
/** A longer text is searched by passages, none of which is longer than this. */
const maxWords = 300

/**
 * The length factor of BM25 with k1 = 0.9 and b = 0.4, relative to an average length that is the same for all users.
 * Long texts contain many words by chance.
 *
 * Measured against FTS5's `bm25()`, words joined by OR: R@10 on talk between two people 61.2 → 62.3, on talk with an
 * assistant 46.6 → 54.6. Among 1,000,000 texts a question takes a quarter of the time, because `bm25()` takes a
 * microsecond per text.
 */
export function lengthFactor(words: number): number {
  return 1.9 / (1.54 + lengthWeight * (Math.min(words, maxWords) / usualWords))
}

// Letters of scripts that are written without spaces between words, and Hangul, whose words take endings. A letter
// keeps its combining marks.
const letter =
  /[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]&&\p{L}]\p{M}*/gv

/** Separates the letters of unspaced scripts, so that a tokenizer that splits at spaces treats each as a word. */
export function spaceOut(text: string): string {
  return text.replace(letter, ' $& ')
}

/** True if the script does not show where words begin and end. */
export function isUnspaced(text: string): boolean {
  return text.search(letter) >= 0
}

/**
 * The search terms of a word: itself, or, in an unspaced script, all pairs of adjacent letters, because word boundaries
 * are unknown. A single letter is its own term.
 */
export function toSearchable(word: string): string[] {
  if (!isUnspaced(word)) return [word]
  const pieces: string[] = []
  let run: string[] = []
  const endRun = () => {
    if (run.length === 1) pieces.push(run[0] ?? '')
    for (let at = 1; at < run.length; at += 1) pieces.push(`${run[at - 1]}${run[at]}`)
    run = []
  }
  let end = 0
  for (const { 0: found, index } of word.matchAll(letter)) {
    if (index > end) {
      endRun()
      pieces.push(word.slice(end, index))
    }
    run.push(found)
    end = index + found.length
  }
  endRun()
  if (end < word.length) pieces.push(word.slice(end))
  return pieces
}

const plain = /^[ -~\s]*$/
// Letters that readers treat as the same but that Unicode decomposition does not unify.
const sameLetters: Record<string, string> = {
  ß: 'ss',
  ẞ: 'SS',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ё: 'е',
  Ё: 'Е',
  أ: 'ا',
  إ: 'ا',
  آ: 'ا',
  ٱ: 'ا',
  ى: 'ي',
  ی: 'ي',
  ک: 'ك',
  ة: 'ه',
}
const sameLetter = new RegExp(`[${Object.keys(sameLetters).join('')}]`, 'g')
// Full-width Latin letters and digits, half-width kana, and the contextual forms of Arabic letters.
const otherShapes = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f]+|[\ufb50-\ufdff\ufe70-\ufefc]+/g
// Vowel signs and the tatweel of Arabic, points of Hebrew: they are optional and do not change the word.
const optionalMarks =
  /[\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]+/g
const stress = /(?<=\p{sc=Cyrillic})[\u0300\u0301]+/gu
const greek = /[\u0370-\u03ff\u1f00-\u1fff][\u0300-\u036f]*/g
const arabicWord = /[\u0621-\u063f\u0641-\u064a]{4,}/g
const arabicPrefix = /^(?:وال|بال|كال|فال|ال|لل)(?=..)/
const arabicSuffix = /(?<=...)(?:ها|ان|ات|ون|ين|يه|ه|ي)$/

/**
 * A text with every word in its search form, whatever the script: equivalent letters become the same, optional signs
 * are removed, and Arabic words lose their article and the endings for "my" and "her". Case and the accents of Latin
 * letters are left to the tokenizer. Applied to indexed texts and to questions; idempotent.
 */
export function foldLetters(text: string): string {
  if (plain.test(text)) return text
  return text
    .normalize('NFC')
    .replace(otherShapes, (found) => found.normalize('NFKC'))
    .replace(optionalMarks, '')
    .replace(sameLetter, (letter) => sameLetters[letter] ?? letter)
    .replace(stress, '')
    .replace(greek, (letter) => letter.normalize('NFD').replace(/[\u0300-\u036f]+/g, ''))
    .replace(arabicWord, stripArabic)
}

function stripArabic(word: string): string {
  const shorter = word.replace(arabicPrefix, '').replace(arabicSuffix, '')
  return shorter === word || shorter.length < 4 ? shorter : stripArabic(shorter)
}

const latinAccent = /(?<=\p{sc=Latin})[\u0300-\u036f]+/gu

/** Also lower case and without accents of Latin letters: as in the index, for comparing word by word. */
export function foldForWords(text: string): string {
  if (plain.test(text)) return text.toLowerCase()
  return foldLetters(text).toLowerCase().normalize('NFD').replace(latinAccent, '').normalize('NFC')
}

const wordLimit = 32

// Words in nearly every English sentence; they would make every note a match.
const stopWords = new Set(
  `a about after again all am an and any are as at be because been before being but by can could d did do does doing
  don down during each few for from further had has have having he her here hers him his how i if in into is it its
  just ll m me more most my no nor not now of off on once only or other our out over own re s same she should so some
  such t than that the their them then there these they this those through to too under until up ve very was we were
  what when where which while who whom why will with would you your yours`.split(/\s+/),
)

/**
 * The search words of any text: letters and digits only, lower case, folded, each once, without English stop words
 * unless there is nothing else. Pairs of letters for unspaced scripts.
 */
export function toQueryWords(text: string): string[] {
  const words = new Set(
    foldLetters(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu),
  )
  const telling = [...words].filter((word) => !stopWords.has(word))
  const searched = (telling.length > 0 ? telling : [...words]).slice(0, wordLimit).flatMap(toSearchable)
  return [...new Set(searched)].slice(0, wordLimit)
}

/** The last search word of a text that may go on: none after a space, nor in a script whose words have no ends. */
export function wordBeingTyped(text: string): string | undefined {
  const last = toQueryWords(text).at(-1)
  if (last === undefined || !/[\p{L}\p{N}\p{M}]$/u.test(text) || isUnspaced(last)) return undefined
  const folded = foldLetters(text).toLowerCase()
  return last.length >= 2 && folded.endsWith(last) ? last : undefined
}

/**
 * The stem of a lower-case word by Martin Porter's algorithm of 1980, exactly as in SQLite's FTS5: it works on bytes,
 * and words of fewer than 3 or more than 64 bytes stay as they are.
 */
export function porterStem(word: string): string {
  const isPlain = /^[a-z0-9]*$/.test(word)
  const bytes = isPlain ? word : Buffer.from(word).toString('latin1')
  if (bytes.length < 3 || bytes.length > 64) return word
  const stem = lastLetters(suffixes(firstSteps(bytes)))
  return isPlain ? stem : Buffer.from(stem, 'latin1').toString()
}

/** Plurals, -ed and -ing, and a final y. */
function firstSteps(word: string): string {
  const stem = withoutEdOrIng(withoutPlural(word))
  return stem.endsWith('y') && hasVowel(stem.slice(0, -1)) ? `${stem.slice(0, -1)}i` : stem
}

function withoutPlural(word: string): string {
  if (!word.endsWith('s') || word.endsWith('ss')) return word
  const losesTwo = (word.endsWith('sses') && word.length > 4) || (word.endsWith('ies') && word.length > 3)
  return word.slice(0, losesTwo ? -2 : -1)
}

function withoutEdOrIng(word: string): string {
  if (word.endsWith('eed') && word.length > 3) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word
  const ending = ['ed', 'ing'].find((end) => word.endsWith(end) && word.length > end.length)
  const stem = word.slice(0, -(ending?.length ?? 0))
  if (!ending || !hasVowel(stem)) return word
  if (/(at|bl|iz)$/.test(stem) && stem.length > 2) return `${stem}e`
  if (/([^aeioulsz])\1$/s.test(stem)) return stem.slice(0, -1)
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem
}

type Suffix = readonly [ending: string, instead: string]

function suffixPairs(list: string): Suffix[] {
  return list.split(/\s+/).map((pair) => pair.split('>') as [string, string])
}

// Ordered by their last letter but one, as in Porter's paper: the first that matches decides, whether it is removed or
// not.
const longSuffixes =
  suffixPairs(`ational>ate tional>tion enci>ence anci>ance izer>ize logi>log bli>ble alli>al entli>ent eli>e ousli>ous
  ization>ize ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble`)
const middleSuffixes = suffixPairs(`ical>ic ness> icate>ic iciti>ic ful> ative> alize>al`)
const lastSuffixes = `al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize`.split(' ')

function suffixes(word: string): string {
  const stem = replaced(replaced(word, longSuffixes), middleSuffixes)
  const ending = lastSuffixes.find((end) => stem.endsWith(end) && stem.length > end.length)
  const rest = stem.slice(0, -(ending?.length ?? 0))
  if (!ending || measure(rest) < 2) return stem
  return ending !== 'ion' || /[st]$/.test(rest) ? rest : stem
}

function replaced(word: string, known: readonly Suffix[]): string {
  const found = known.find(([ending]) => word.endsWith(ending) && word.length > ending.length)
  if (!found) return word
  const stem = word.slice(0, -found[0].length)
  return measure(stem) > 0 ? stem + found[1] : word
}

/** A final e, and one of two l. */
function lastLetters(word: string): string {
  const stem = word.endsWith('e') && dropsE(word.slice(0, -1)) ? word.slice(0, -1) : word
  return stem.endsWith('ll') && measure(stem.slice(0, -1)) > 1 ? stem.slice(0, -1) : stem
}

function dropsE(stem: string): boolean {
  const count = measure(stem)
  return count > 1 || (count === 1 && !endsShort(stem))
}

/** Letter by letter: v for a vowel, c for a consonant. A y after a consonant is a vowel. */
function shape(word: string): string {
  let kinds = ''
  for (const letter of word) {
    const isVowel = 'aeiou'.includes(letter) || (letter === 'y' && kinds.endsWith('c'))
    kinds += isVowel ? 'v' : 'c'
  }
  return kinds
}

/** How often consonants follow vowels: Porter's m. */
function measure(stem: string): number {
  return shape(stem).match(/v+c/g)?.length ?? 0
}

function hasVowel(stem: string): boolean {
  return shape(stem).includes('v')
}

/** A consonant, a vowel and a consonant that is not w, x or y: Porter's *o. */
function endsShort(stem: string): boolean {
  return shape(stem).endsWith('cvc') && !/[wxy]$/.test(stem)
}

// The characters that FTS5's unicode61 treats as parts of words, and the accents that it ignores inside them.
const accent = /[\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331]/u
const token = new RegExp(`[\\p{L}\\p{N}\\p{Co}](?:[\\p{L}\\p{N}\\p{Co}]|${accent.source})*`, 'gu')
const run = /[\p{L}\p{N}\p{Co}\p{M}]+/gu

interface TextTokens {
  /** All tokens of the text in order, as stems without accents. */
  tokens: string[]
  /** True for tokens that may belong to their neighbor: unspaced letters, and parts of words split by marks. */
  isPiece: boolean[]
}

/**
 * The words of a text as SQLite indexes them with `tokenize = 'porter unicode61 remove_diacritics 2'`, with the letters
 * of unspaced scripts separated.
 */
export function toTokens(text: string): TextTokens {
  const tokens: string[] = []
  const isPiece: boolean[] = []
  for (const [word] of text.matchAll(run)) {
    const found = spaceOut(word).match(token) ?? []
    for (const piece of found) {
      tokens.push(porterStem(foldToken(piece)))
      isPiece.push(found.length > 1 || (piece.length === word.length && spaceOut(word) !== word))
    }
  }
  return { tokens, isPiece }
}

const known = new Map<string, string>()

function foldToken(piece: string): string {
  if (/^[a-z0-9]*$/.test(piece)) return piece
  let folded = ''
  for (const letter of piece) folded += foldLetter(letter)
  return folded
}

/** In lower case, without accents on plain Latin letters. */
function foldLetter(letter: string): string {
  const before = known.get(letter)
  if (before !== undefined) return before
  const folded = accent.test(letter) ? '' : withoutAccent(toLowerLetter(letter))
  known.set(letter, folded)
  return folded
}

/** One letter for one letter. Via upper case, so that a final sigma becomes a normal one. */
function toLowerLetter(letter: string): string {
  const upper = letter.toUpperCase()
  const lower = (upper.length === letter.length && letter !== 'ı' ? upper : letter).toLowerCase()
  return lower.length === letter.length ? lower : letter
}

function withoutAccent(letter: string): string {
  const [base = '', ...marks] = letter.normalize('NFD')
  return /^[a-z]$/i.test(base) && marks.every((mark) => /^\p{Mn}$/u.test(mark)) ? base.toLowerCase() : letter
}

// Longer words do not fit an index entry; real words are shorter.
const maxWordLength = 200
const hashMark = '#'

/**
 * The words of a text, each once, for an index without phrases; adjacent pieces are also listed as a pair, which
 * distinguishes adjacent letters from distant ones. `length` counts all words, with repetitions.
 */
export function toIndexedWords(text: string): { words: string[]; length: number } {
  const { tokens, isPiece } = toTokens(text)
  const words = new Set(tokens.map(shorten))
  for (let at = 1; at < tokens.length; at += 1) {
    if (isPiece[at - 1] && isPiece[at]) words.add(pairOf(tokens[at - 1], tokens[at]))
  }
  return { words: [...words], length: tokens.length }
}

/** The beginning of the index words that a word which is still being typed may become; undefined for several pieces. */
export function toSoughtBeginning(word: string): string | undefined {
  const pieces = spaceOut(word).match(token) ?? []
  return pieces.length === 1 ? shorten(porterStem(foldToken(pieces[0] ?? ''))) : undefined
}

/** The index words of every text that contains the searched word: the word itself, or all pairs of its pieces. */
export function toSoughtWords(word: string): string[] {
  const { tokens } = toTokens(word)
  if (tokens.length < 2) return tokens.map(shorten)
  return tokens.slice(1).map((token, before) => pairOf(tokens[before], token))
}

function pairOf(first = '', second = ''): string {
  return shorten(`${first} ${second}`)
}

function shorten(word: string): string {
  return word.length > maxWordLength ? hashMark + sha256(word) : word
}

/**
 * Parses digits and commas: one value from the database instead of a row per number, which would take most of the time.
 * `List` is allocated larger than needed and then cut.
 */
export function parseNumbers<T extends Int32Array | Float64Array>(list: string, List: new (length: number) => T): T {
  // Each number takes at least a digit and a comma.
  const numbers = new List(Math.ceil(list.length / 2))
  let count = 0
  let number = 0
  for (let index = 0; index < list.length; index += 1) {
    const code = list.charCodeAt(index)
    if (code === comma) {
      numbers[count] = number
      count += 1
      number = 0
    } else number = number * 10 + code - zero
  }
  if (list === '') return numbers
  numbers[count] = number
  return numbers.subarray(0, count + 1) as T
}

const comma = 0x2c
const zero = 0x30
