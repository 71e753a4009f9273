import { toIndexKey } from '../storage/database.ts'
import { foldForWords, foldLetters, isUnspaced, porterStem, toSearchable } from '../storage/words.ts'
import wordLists from './word-lists.json' with { type: 'json' }

export { wordLists }

/** One of the lists of words, which are separated by spaces. */
export function wordSet(name: Exclude<keyof typeof wordLists, 'diets' | 'factVerbs'>): Set<string> {
  return new Set(wordLists[name].split(' '))
}

const maxTopics = 3
const topicsShortest = 3
// Words about when, how or in what tone something is wanted, not what.
const weak = wordSet('weakTopics')

/** The subject of a message in its strongest words: the longest are the rarest, apart from names and numbers. */
export function topicsOf(text: string): string[] {
  const words = contentWords(text)
    .flatMap(foldedWords)
    .filter((word) => (word.length >= topicsShortest || isUnspaced(word)) && !weak.has(word) && !/\p{N}/u.test(word))
  return [...new Set(words)].toSorted((a, b) => b.length - a.length).slice(0, maxTopics)
}

// Words without meaning in an English question. Keeping them costs recall and five times the time.
const stopWords = wordSet('stopWords')

// A question is short. Longer text is cut, so that a megabyte cannot become a hundred thousand terms.
const readCharacters = 4_000
const contraction = /['’](?:s|t|re|ve|ll|d|m)\b/gi
const word = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/**
 * The significant words of a text: lower case, without accents, each once, without stop words, in order, at most
 * `limit`. Scripts without spaces give all pairs of adjacent letters.
 */
export function contentWords(text: string, limit = 32): string[] {
  return [...new Set(allContentWords(text.slice(0, readCharacters)))].slice(0, limit)
}

/** The same with repetitions, and of the whole text. */
export function allContentWords(text: string): string[] {
  const words = foldForWords(text.replace(contraction, '')).match(word) ?? []
  return words.flatMap(toSearchable).filter((found) => !stopWords.has(found))
}

const endMarks = '.!?…'
const wideEndMarks = '。！？'
const abbreviations = wordSet('abbreviations')

/** The sentences of a text, trimmed, in order. One pass for any text. */
export function splitSentences(text: string): string[] {
  const sentences: string[] = []
  let start = 0
  const cut = (end: number) => {
    const sentence = text.slice(start, end).trim()
    if (sentence !== '') sentences.push(sentence)
    start = end
  }
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '\n' || wideEndMarks.includes(character)) cut(at + 1)
    else if (endMarks.includes(character) && /\s/.test(text.charAt(at + 1)) && !endsAbbreviation(text, start, at)) {
      cut(at + 1)
    }
  }
  cut(text.length)
  return sentences
}

function endsAbbreviation(text: string, start: number, at: number): boolean {
  if (text.charAt(at) !== '.') return false
  // At most as long as the longest abbreviation.
  const before = text.slice(Math.max(start, at - 8), at)
  const word = (before.split(/\s/).at(-1) ?? '').toLowerCase()
  return abbreviations.has(word) || /^[a-z]$/.test(word)
}

const longest = 800

/**
 * A text in passages of at most about `limit` characters, split between paragraphs, otherwise between sentences,
 * otherwise between words. Only white space at the cuts is lost.
 */
export function splitPassages(text: string, limit = longest): string[] {
  const passages: string[] = []
  let passage = ''
  const add = (piece: string, joint: string) => {
    if (passage !== '' && passage.length + joint.length + piece.length > limit) {
      passages.push(passage)
      passage = ''
    }
    passage = passage === '' ? piece : `${passage}${joint}${piece}`
  }
  for (const paragraph of paragraphs(text)) {
    if (paragraph.length <= limit) add(paragraph, '\n\n')
    else {
      for (const sentence of splitSentences(paragraph)) {
        for (const piece of splitLong(sentence, limit)) add(piece, ' ')
      }
    }
  }
  if (passage !== '') passages.push(passage)
  return passages
}

function paragraphs(text: string): string[] {
  return text
    .split(/\n[^\S\n]*\n/)
    .map((paragraph) => paragraph.trim())
    .filter(Boolean)
}

/** A sentence without an end: split at its last space before the limit, or inside a word of that length. */
function splitLong(sentence: string, limit: number): string[] {
  const pieces: string[] = []
  let rest = sentence
  while (rest.length > limit) {
    const space = rest.lastIndexOf(' ', limit)
    let end = space > limit / 2 ? space : limit
    // Never between the two halves of one character.
    if (/[\ud800-\udbff]/.test(rest.charAt(end - 1))) end -= 1
    pieces.push(rest.slice(0, end).trim())
    rest = rest.slice(end).trim()
  }
  return [...pieces, rest].filter(Boolean)
}

// Irregular forms, each group under its first word. A question about what was bought must match a sentence with "buy".
/** "go" for "went". */
const baseOf = new Map<string, string>()
const formsOf = new Map<string, string[]>()
for (const group of wordSet('irregularForms')) {
  const [base = '', forms = ''] = group.split(':')
  formsOf.set(base, [base, ...forms.split(',')])
  for (const form of forms.split(',')) baseOf.set(form, base)
}

/** The irregular forms that a search for the word must include, without the word itself. */
export function irregularForms(word: string): string[] {
  return (formsOf.get(baseOf.get(word) ?? word) ?? []).filter((form) => form !== word)
}

/**
 * The stem of a lower-case English word, the same that texts are indexed by: words that belong together ("painted",
 * "painting") have the same one. It is not always a word. Words of other alphabets stay as they are.
 */
export function stem(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  if (word.length > maxWordLength || !/^[a-z]+$/.test(word)) return word
  // The whole memory of a talkative year holds some 20,000 different words.
  if (stems.size >= maxStems) stems.clear()
  const found = porterStem(word)
  stems.set(word, found)
  return found
}

const stems = new Map<string, string>()
const maxStems = 30_000
const maxWordLength = 40

/** The terms of a text, for comparing with another text: stems of its content words, in order, repetitions included. */
export function termsOf(text: string): string[] {
  return allContentWords(text).map(termOf)
}

/** One form for all forms of a lower-case word. The stemmer treats "allergy" and "allergic" as different. */
export function termOf(word: string): string {
  const base = baseOf.get(word) ?? word
  return stem(base.length >= 6 && base.endsWith('ic') ? `${base.slice(0, -2)}y` : base)
}

const bestPassageReadCharacters = 200_000
const countedCharacters = 10_000
/** The space for notes about the rest. */
const noteCharacters = 40
const shortest = 40

/**
 * A text within `limit` characters: whole, or its passage with most words of `about`, with a note about the omission.
 * `wholeLength` is given if the text is itself a passage of a longer one.
 */
export function bestPassage(text: string, about: string, limit: number, wholeLength = text.length): string {
  if (text.length <= limit) {
    return wholeLength > text.length ? `[…] ${text}\n[… ${wholeLength - text.length} more characters]` : text
  }
  const words = contentWords(about)
  const passages = splitPassages(text.slice(0, bestPassageReadCharacters), Math.max(shortest, limit - noteCharacters))
  let best = { passage: passages[0] ?? '', isFirst: true, count: countWords(passages[0] ?? '', words) }
  for (const passage of passages.slice(1)) {
    const count = countWords(passage, words)
    if (count > best.count) best = { passage, isFirst: false, count }
  }
  const passage = best.passage.toWellFormed()
  return `${best.isFirst && wholeLength === text.length ? '' : '[…] '}${passage}\n[… ${wholeLength - best.passage.length} more characters]`
}

/** How many of the words the text contains, in any form. */
export function countWords(text: string, words: readonly string[]): number {
  if (words.length === 0) return 0
  const known = new Set(allContentWords(text.slice(0, countedCharacters)).map(termOf))
  return words.filter((word) => known.has(termOf(word))).length
}

const accent = /(?<=[\p{sc=Latin}\p{sc=Greek}])[\u0300-\u036f]+/gu
const apostrophe = /[‘’ʼ´`]/g
const leadingSigns = ' "\'“”«»,;'
const trailingSigns = `${leadingSigns}.!?`
const usersOwnNames = new Set(['user', 'the user', 'me', 'i', 'myself'])

/**
 * The form for comparing names and values: ignores case, white space, accents, quotes and a final period; other signs
 * count, so that C++ is not C#. Idempotent.
 */
export function foldText(text: string): string {
  return untilStable(text.toWellFormed(), foldOnce)
}

/** For a person or thing. `user` is the user, under any name. */
export function entityKey(name: string): string {
  const key = foldText(name)
  return usersOwnNames.has(key) ? 'user' : toIndexKey(key)
}

/** For an attribute: also, `-` and `_` are spaces, and a simple English plural is its singular. */
export function attributeKey(attribute: string): string {
  const folded = untilStable(foldText(attribute), (key) => {
    const spaced = foldText(key.replaceAll(/[_-]+/g, ' ')) || key
    return foldText(spaced.split(' ').map(singular).join(' '))
  })
  return toIndexKey(folded)
}

export function valueKey(value: string): string {
  return toIndexKey(foldValue(value))
}

/** For what is owed. */
export function whatKey(what: string): string {
  return toIndexKey(foldText(what))
}

/** For a fact's value: also, a leading article does not count. */
export function foldValue(value: string): string {
  return untilStable(foldText(value), (key) => foldText(key.replace(/^(?:(?:an?|the) )+/, '')))
}

/** The folded words of a text, plurals as singulars, in order; pairs of letters in scripts without spaces. */
export function foldedWords(text: string): string[] {
  const words = foldText(foldLetters(text)).match(word) ?? []
  return words.flatMap(toSearchable).map(singular)
}

/** Folding can reveal something else to fold, such as a sign that unfolds to a capital. A few rounds are enough. */
function untilStable(text: string, fold: (text: string) => string): string {
  let folded = text
  for (let round = 0; round < 8; round += 1) {
    const next = fold(folded)
    if (next === folded) break
    folded = next
  }
  return folded
}

function foldOnce(text: string): string {
  const plain = text.toLowerCase().normalize('NFKD').replace(accent, '').normalize('NFKC').replace(apostrophe, "'")
  const spaced = plain.replaceAll(/\s+/g, ' ').trim()
  // Text of nothing but such signs is compared by them.
  return trimSigns(spaced) || spaced
}

/** By hand: a pattern anchored at the end takes quadratic time on a long run of such signs. */
function trimSigns(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && leadingSigns.includes(text.charAt(start))) start += 1
  while (end > start && trailingSigns.includes(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

/** A key for comparing, not a word to show: `movie` and `movies` both become `movy`. */
function singular(word: string): string {
  if (word.length < 4) return word
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.length > 4 && word.endsWith('ie')) return `${word.slice(0, -2)}y`
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2)
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word
}
