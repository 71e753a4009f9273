import { type DateRange, isDayWord, readDates } from '../dates.ts'
import type { Memory } from '../memory.ts'
import { notePassages } from '../note-passages.ts'
import { contentWords, irregularForms, termOf, termsOf, wordLists, wordSet } from '../words.ts'
import type { SpeakerNames } from './window-words.ts'

export interface Question {
  text: string
  /** Its subject as stems, without speaker names. Empty if it only asks about days. */
  terms: readonly string[]
  /** For the full-text search: the same as words, in all forms. */
  searchWords: string
  speakers: readonly string[]
  dates: DateRange | undefined
  asksHowMany: boolean
  /** It asks for Familiar's own words. */
  asksForReply: boolean
  embeddingText: string
}

// Question words, not part of the subject.
const askingTerms = new Set([...wordSet('askingTerms')].map(termOf))
// "What did we talk about yesterday?" asks for the day.
const talkingTerms = new Set(['talk', 'chat', 'speak', 'tell', 'do'].map(termOf))
const asksHowMany = /\bhow (?:many|much|often|old)\b/i
const asksForReply = /\b(?:did|have|had) you\b|\byou (?:said|suggest|recommend|told|gave|explain|propos|advis|mention)/i

export function readQuestion(
  text: string,
  options: {
    at: number
    timeZone: string
    speakers: SpeakerNames
    /** Of the people that it names. */
    otherNames?: readonly string[]
  },
): Question {
  const { at, timeZone, speakers, otherNames = [] } = options
  const named = [...new Set([text, ...otherNames].flatMap((name) => speakers.in(name)))]
  const nameWords = new Set(named.flatMap((name) => contentWords(name)))
  const words = [...new Set([text, ...otherNames].flatMap((name) => contentWords(name)))]
  const withoutNames = words.filter((word) => !nameWords.has(word))
  const telling = withoutNames.filter((word) => !askingTerms.has(termOf(word)))
  // "What kind of thing?" has no other subject: then its own words are used; or the names if there is nothing else.
  const kept = telling.length > 0 ? telling : withoutNames.length > 0 ? withoutNames : words
  const dates = readDates(text, at, timeZone)
  const isAboutDays = dates !== undefined && kept.every((word) => isDayWord(word) || talkingTerms.has(termOf(word)))
  const subjects = isAboutDays ? [] : [...kept, ...relatedWords(kept)]
  return {
    text,
    terms: [...new Set(subjects.map(termOf))],
    searchWords: [...new Set(subjects.flatMap((word) => [...wordForms(word), ...irregularForms(word)]))].join(' '),
    speakers: named,
    dates,
    asksHowMany: asksHowMany.test(text),
    asksForReply: asksForReply.test(text),
    embeddingText: speakers.takenOut(text),
  }
}

/** The terms of a memory, for comparing with a question's: for a long one, of the passage with most of them. */
export type MemoryTerms = (memory: Memory, asked: readonly string[]) => readonly string[]

const maxKept = 5_000
/** In terms: a few long texts must not fill the memory. */
const maxTermsKept = 500_000

/** Caches the terms of recently read memories: successive questions read many of the same. */
export function createMemoryTerms(): MemoryTerms {
  const known = new Map<number, { updatedAt: number; passages: readonly (readonly string[])[] }>()
  let kept = 0

  function passagesOf(memory: Memory): readonly (readonly string[])[] {
    const before = known.get(memory.number)
    if (before?.updatedAt === memory.updatedAt) return before.passages
    const passages = notePassages(memory.content).map((passage) =>
      termsOf(`${memory.title ?? ''} ${passage} ${memory.tags.join(' ')}`),
    )
    const size = passages.reduce((sum, { length }) => sum + length, 0)
    if (known.size >= maxKept || kept + size > maxTermsKept) {
      known.clear()
      kept = 0
    }
    known.set(memory.number, { updatedAt: memory.updatedAt, passages })
    kept += size
    return passages
  }

  return (memory, asked) => {
    const passages = passagesOf(memory)
    return passages[passages.length > 1 ? bestByTerms(passages, asked).index : 0] ?? []
  }
}

/** The passage with most of the terms, the first among equals. */
export function bestByTerms(
  passages: readonly (readonly string[])[],
  asked: readonly string[],
): { index: number; count: number } {
  let best = { index: 0, count: 0 }
  for (const [index, terms] of passages.entries()) {
    const held = new Set(terms)
    const count = asked.filter((term) => held.has(term)).length
    if (count > best.count) best = { index, count }
  }
  return best
}

/**
 * The word, and its sibling in `-ic` or `-y`: the stemmer treats "allergy" and "allergic" as different, and a question
 * about allergies must find both. Everything else is left to the stemmer.
 */
export function wordForms(word: string): string[] {
  if (word.length < 6) return [word]
  if (word.endsWith('ies')) return [word, `${word.slice(0, -3)}ic`]
  if (word.endsWith('y')) return [word, `${word.slice(0, -1)}ic`]
  if (word.endsWith('ic')) return [word, `${word.slice(0, -2)}y`]
  return [word]
}

/**
 * Dietary restrictions are stated once, for a whole group ("allergic to shellfish"), and asked about one thing ("can I
 * eat shrimp?"). Missing them is harmful, and a small embedding finds other sentences about eating nearer. So only here
 * a question is extended by related words.
 */
const limits = ['allergic', 'allergy', 'intolerant', 'intolerance']

const wordsOf = new Map<string, Set<string>>()
for (const { words, members } of wordLists.diets) {
  for (const member of members.split(' ')) {
    const known = wordsOf.get(member) ?? new Set(limits)
    for (const word of words.split(' ')) known.add(word)
    wordsOf.set(member, known)
  }
}

/** Additional search words for a question with these lower-case words. */
export function relatedWords(words: readonly string[]): string[] {
  const related = new Set(words.flatMap((word) => [...(wordsOf.get(word) ?? wordsOf.get(singular(word)) ?? [])]))
  return [...related].filter((word) => !words.includes(word))
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.endsWith('s') ? word.slice(0, -1) : word
}
