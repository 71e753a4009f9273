import { contentWords } from '../content-words.ts'
import { wordForms } from '../word-forms.ts'
import { irregularForms } from './irregular-words.ts'
import { type DateRange, isDayWord, readDates } from './read-dates.ts'
import { relatedWords } from './related-words.ts'
import type { SpeakerNames } from './speaker-names.ts'
import { termOf } from './terms.ts'

/** What a question says about the memories that would answer it. */
export interface Question {
  text: string
  /** What it is about, as stems, without the names of those who speak. Empty where it asks for nothing but days. */
  terms: readonly string[]
  /** For the full text: the same as words, in all their forms. */
  searchWords: string
  /** The speakers that it names. */
  speakers: readonly string[]
  /** The days that it asks about. */
  dates: DateRange | undefined
  /** It asks for a number. */
  asksHowMany: boolean
  /** It asks for what Familiar itself said. */
  asksForReply: boolean
  /** What of it is embedded. */
  embeddingText: string
}

// Words of asking, not of what is asked about.
const askingTerms = new Set(
  `kind type sort name thing likely might describe mention say share accord base recent way use list order item aspect
  conversation discuss bring throughout summary summarize comprehensive give mean question answer happen`
    .split(/\s+/)
    .map(termOf),
)
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
    /** Of those whom it names. */
    otherNames?: readonly string[]
  },
): Question {
  const { at, timeZone, speakers, otherNames = [] } = options
  const named = [...new Set([text, ...otherNames].flatMap((name) => speakers.in(name)))]
  const nameWords = new Set(named.flatMap((name) => contentWords(name)))
  const words = [...new Set([text, ...otherNames].flatMap((name) => contentWords(name)))]
  const withoutNames = words.filter((word) => !nameWords.has(word))
  const telling = withoutNames.filter((word) => !askingTerms.has(termOf(word)))
  // "What kind of thing?" is about nothing else: then its own words have to do; and the names where it has only those.
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
