import { afterPhrase } from './phrase.ts'

export interface Sentence {
  /** As the user wrote it. */
  text: string
  /** Without "hi", "please", "can you" and their like in front. Empty where nothing else was said. */
  request: string
  asks: boolean
  /** It began with "can you" or its like: with a question mark it is still an order. */
  bids: boolean
  startsLine: boolean
}

// Past this a message is a document, not a list of requests: it is read as one sentence, by its beginning.
const longestMessage = 4_000
const mostSentences = 30

const endMarks = '.!?…'
const wideEndMarks = '。！？'
const abbreviations = new Set(
  'dr mr mrs ms st prof jr sr no nr vs etc approx e.g i.e a.m p.m u.s u.k d.c jan feb mar apr jun jul aug sep sept oct nov dec'.split(
    ' ',
  ),
)
const courtesies = [
  'hi there',
  'hello there',
  'hey there',
  'hi',
  'hello',
  'hey',
  'good morning',
  'good afternoon',
  'good evening',
  'thanks',
  'thank you',
  'please',
  'ok',
  'okay',
  'so',
  'and',
  'also',
  'then',
  'now',
  'well',
  'familiar',
  'actually',
  'by the way',
  'btw',
]
const bids = [
  'can you',
  'could you',
  'would you',
  'will you',
  'i want you to',
  "i'd like you to",
  'i would like you to',
]
const joinedQuestion = /,?\s(?:and|or)\s(?=(?:what|when|where|who|which|how|do i|am i|is my)\b)/i

export function readSentences(message: string): Sentence[] {
  const text = message.trim()
  if (text.length > longestMessage) return [readSentence(text, true)]
  const pieces = splitSentences(text)
  if (pieces.length > mostSentences) return [readSentence(text, true)]
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
    const asked = afterPhrase(request, bids)
    const rest = asked ?? afterPhrase(request, courtesies)
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

/** One walk over the text. A mark ends a sentence before white space; a full stop not after an abbreviation. */
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
  // The word before the stop, looked at no further back than the longest abbreviation.
  const before = text.slice(Math.max(start, at - 8), at)
  const word = before.slice(before.search(/\S*$/)).toLowerCase()
  return abbreviations.has(word) || /^[a-z]$/.test(word)
}
