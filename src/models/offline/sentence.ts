import type { Json, ToolResult } from '../../protocol/messages.ts'
import phrases from './phrases.json' with { type: 'json' }
import type { Before } from './read-turn.ts'
import { type Texts, tables } from './texts.ts'

export interface Sentence {
  /** As the user wrote it. */
  text: string
  /** Without "hi", "please", "can you" and the like in front. Empty if nothing else was said. */
  request: string
  asks: boolean
  /** It began with "can you" or similar: even with a question mark it is a request. */
  bids: boolean
  startsLine: boolean
}

// A longer message is a document, not a list of requests: it is read as one sentence, by its beginning.
const maxMessageLength = 4_000
const maxSentences = 30

const endMarks = '.!?…'
const wideEndMarks = '。！？'
const abbreviations = new Set(phrases.abbreviations)
/** "Am 5. Mai" */
const germanMonth = new RegExp(`^ (?:${tables.de.times.months.join('|')})(?!\\p{L})`, 'iu')
const joinedQuestion = /,?\s(?:and|or)\s(?=(?:what|when|where|who|which|how|do i|am i|is my)\b)/i

export function readSentences(message: string): Sentence[] {
  const text = message.trim()
  if (text.length > maxMessageLength) return [readSentence(text, true)]
  const pieces = splitSentences(text)
  if (pieces.length > maxSentences) return [readSentence(text, true)]
  return pieces.flatMap(({ text, startsLine }) => splitQuestions(readSentence(text, startsLine)))
}

function readSentence(text: string, startsLine: boolean): Sentence {
  const asks = /[?？؟]["'”’)!\s]{0,3}$/.test(text.slice(-4))
  return { text, asks, startsLine, ...withoutCourtesy(text) }
}

function withoutCourtesy(text: string): { request: string; bids: boolean } {
  let request = text
  let bidding = false
  for (let round = 0; round < 5; round += 1) {
    const asked = afterPhrase(request, phrases.bids)
    const rest = asked ?? afterPhrase(request, phrases.courtesies)
    if (rest === undefined) break
    bidding ||= asked !== undefined
    request = rest.replace(/^[.!]+\s*/, '')
  }
  return { request, bids: bidding }
}

/** "What is my name and when is my birthday?" is two questions. */
function splitQuestions(sentence: Sentence): Sentence[] {
  if (!sentence.asks || sentence.bids) return [sentence]
  return sentence.text
    .split(joinedQuestion)
    .map((text, index) => ({ ...readSentence(text, sentence.startsLine && index === 0), asks: true }))
}

/** One pass over the text. A mark ends a sentence before white space; a period does not after an abbreviation. */
function splitSentences(text: string): { text: string; startsLine: boolean }[] {
  const pieces: { text: string; startsLine: boolean }[] = []
  let start = 0
  let startsLine = true
  const cut = (end: number, nextStartsLine: boolean) => {
    const piece = text.slice(start, end).trim()
    if (piece !== '') {
      pieces.push({ text: piece, startsLine })
      startsLine = nextStartsLine
    } else startsLine ||= nextStartsLine
    start = end
  }
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '\n') cut(at + 1, true)
    else if (wideEndMarks.includes(character)) cut(at + 1, false)
    else if (endMarks.includes(character) && /\s/.test(text.charAt(at + 1)) && !isAbbreviation(text, start, at)) {
      cut(at + 1, false)
    }
  }
  cut(text.length, false)
  return pieces
}

function isAbbreviation(text: string, start: number, at: number): boolean {
  if (text.charAt(at) !== '.') return false
  // The word before the period, at most as long as the longest abbreviation.
  const before = text.slice(Math.max(start, at - 8), at)
  const word = before.slice(before.search(/\S*$/)).toLowerCase()
  if (/^\d{1,2}$/.test(word)) return germanMonth.test(text.slice(at + 1, at + 12))
  return abbreviations.has(word) || /^[a-z]$/.test(word)
}

/** The meaning of a sentence: a reply, or a tool call and the reply to its result. */
export type Intent = SayIntent | CallIntent

interface SayIntent {
  type: 'say'
  /** `courtesy` is dropped beside anything else; `unknown` sentences are answered together. */
  kind: 'answer' | 'courtesy' | 'unknown'
  /** In the language of the message. */
  text: string | ((texts: Texts) => string)
}

export interface CallIntent {
  type: 'call'
  tool: string
  input: { [key: string]: Json }
  /** Completes "I could not …". */
  purpose: string
  /** Only for results that are not errors. A nonempty reply, or the next intent. */
  answer(result: ToolResult, texts: Texts): string | Intent
  /** A further tool that is needed; without it the intent is not started. */
  leadsTo?: string
  /** Used instead if a required tool is not available. */
  otherwise?: Intent
  /** Used instead if the tool refused. */
  ifRefused?: Intent
  /** The same intent with a further sentence of the user that may belong to it. */
  extend?(sentence: Sentence): Intent
}

/** An ability that needs no language model, recognized by the form of a sentence and its context. */
export type Ability = (sentence: Sentence, before: Before) => Intent | undefined

export function say(text: SayIntent['text'], kind: SayIntent['kind'] = 'answer'): Intent {
  return { type: 'say', kind, text }
}

const wordCharacter = /[\p{L}\p{N}\p{M}'’_]/u
const space = /\s/

/** The text after the first phrase that it begins with; undefined if there is none. */
export function afterPhrase(text: string, phrases: readonly string[]): string | undefined {
  for (const phrase of phrases) {
    const end = endOfPhrase(text, phrase)
    if (end !== undefined) return text.slice(end).replace(/^[\s,:;]+/, '')
  }
  return undefined
}

/** The text is one of the phrases, with nothing but punctuation. */
export function isPhrase(text: string, phrases: readonly string[]): boolean {
  return phrases.some((phrase) => {
    const end = endOfPhrase(text, phrase)
    // Punctuation after a phrase is short.
    return end !== undefined && text.length - end < 16 && !hasWords(text.slice(end))
  })
}

/** Contains a letter or a digit of any script. */
export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text)
}

/** Phrases are lower case, with single spaces and straight apostrophes. A phrase ends at the end of a word. */
function endOfPhrase(text: string, phrase: string): number | undefined {
  let at = 0
  for (const expected of phrase) {
    const actual = text[at]
    if (actual === undefined) return undefined
    if (expected === ' ') {
      if (!space.test(actual)) return undefined
      while (space.test(text[at] ?? '')) at += 1
    } else {
      if (actual.toLowerCase() !== expected && !(expected === "'" && actual === '’')) return undefined
      at += 1
    }
  }
  return wordCharacter.test(text[at] ?? '') ? undefined : at
}
