import type { Language } from '../../base/languages.ts'
import { readFact } from '../../memory/facts.ts'
import { contentWords, countWords } from '../../memory/words.ts'
import type { Json, ToolResult } from '../../protocol/messages.ts'
import { readSubject } from './heard.ts'
import {
  dateIn,
  entityOf,
  listNote,
  type NoteLine,
  noteText,
  readNoteLines,
  tellNote,
  withoutWrapping,
} from './notes.ts'
import phrases from './phrases.json' with { type: 'json' }
import { type Ability, afterPhrase, type CallIntent, type Intent, readSentences, type Sentence } from './sentence.ts'
import type { Texts } from './texts.ts'

const whom = '(.{1,80}?)'
const own = [
  /^what (?:do|did) i (?:still )?owe$/i,
  /^what (?:have|had) i (?:still )?promised$/i,
  /^what did i promise$/i,
  /^(?:what are |list |show |show me )?(?:all )?my (?:open )?(?:promises|commitments|debts)$/i,
  /^what is (?:still )?(?:due|open)(?: this week| this month| soon)?$/i,
]
const ownTo = [
  new RegExp(`^what (?:do|did) i (?:still )?owe (?:to )?${whom}$`, 'i'),
  new RegExp(`^do i (?:still )?owe ${whom} (?:anything|something|money)$`, 'i'),
  new RegExp(`^what (?:have|had) i (?:still )?promised (?:to )?${whom}$`, 'i'),
  new RegExp(`^what did i promise (?:to )?${whom}$`, 'i'),
]
const theirs = [
  new RegExp(`^what (?:does|do|did) ${whom} (?:still )?owe (?:me|us)$`, 'i'),
  new RegExp(`^what (?:has|have|had) ${whom} promised(?: me| us)?$`, 'i'),
  new RegExp(`^what did ${whom} promise(?: me| us)?$`, 'i'),
  new RegExp(`^does ${whom} (?:still )?owe me (?:anything|something|money)$`, 'i'),
]
const mark = /^(?:mark|set) (.{2,120}?) (?:as )?(done|finished|completed?|cancelled|canceled)$/i
const promisesLongestQuestion = 200
const maxListed = 20

/** "What do I still owe my sister?", "What did Tom promise me?", "Mark the photos as done". */
export const promises: Ability = ({ request }, { cited }) => {
  if (request.length > promisesLongestQuestion) return undefined
  const text = request.replaceAll('’', "'").replace(/[?!.\s]+$/, '')
  const [, what, state] = mark.exec(text) ?? []
  if (what !== undefined) return closing(what, /^cancel/i.test(state ?? '') ? 'cancelled' : 'done', cited)
  if (own.some((pattern) => pattern.test(text))) return listing({ who: 'user' }, request)
  const creditor = firstMatch(ownTo, text)
  if (creditor !== undefined) return listing({ who: 'user', to: creditor }, request)
  const debtor = firstMatch(theirs, text)
  return debtor === undefined ? undefined : listing({ who: entityOf(debtor), to: 'user' }, request)
}

function firstMatch(patterns: readonly RegExp[], text: string): string | undefined {
  return patterns.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined)
}

function listing(people: { [key: string]: Json }, question: string): CallIntent {
  const words = asQuery(question)
  return queryOrRecall(
    question,
    'look up what is promised',
    { ...people, words, limit: maxListed },
    (result, texts) => {
      const { exact, byWords } = readQueryAnswer(result)
      if (exact.length > 0) return [texts.promises, ...exact.map((note) => listNote(note, texts))].join('\n')
      const open = withoutClosed(byWords)
      return open.length > 0 ? `${texts.noPromises} ${answerFrom(open, words, texts)}` : texts.noPromises
    },
  )
}

/** Asks for the exact answer; if that is not possible, the question is answered by its words. */
export function queryOrRecall(
  question: string,
  purpose: string,
  input: CallIntent['input'],
  answer: CallIntent['answer'],
): CallIntent {
  const recalled = recallIntent(question)
  return { type: 'call', tool: 'memory_query', input, purpose, answer, otherwise: recalled, ifRefused: recalled }
}

/** Without closed promises and the words in which they were made. */
function withoutClosed(notes: readonly NoteLine[]): NoteLine[] {
  const closed = notes.filter((note) => note.kind === 'commitment' && /\((?:done|cancelled|expired)\)$/.test(note.text))
  return notes.filter((note) => {
    const words = contentWords(note.text)
    return !closed.some(({ text }) => countWords(text, words) * 2 > words.length)
  })
}

/** The promise is looked up first; closed only if it is unambiguous. */
function closing(what: string, state: string, cited: readonly string[]): Intent {
  const [newest] = cited
  if (/^(?:it|that|this)$/i.test(what) && newest !== undefined) return closeCall(newest, state)
  return {
    type: 'call',
    tool: 'memory_query',
    input: { who: 'user', limit: 50 },
    purpose: 'look up what is promised',
    leadsTo: 'commitment_update',
    answer: (result, texts) => closeOne(result, { what, state }, texts),
  }
}

function closeOne(result: ToolResult, { what, state }: { what: string; state: string }, texts: Texts): string | Intent {
  const { exact } = readQueryAnswer(result)
  const fitting = bestNotes(exact, what).filter(({ isFull }) => isFull)
  const [first, ...others] = fitting
  if (!first) return texts.noSuchPromise
  if (others.length === 0) return closeCall(first.note.id, state)
  return [texts.whichPromise, ...fitting.map(({ note }) => listNote(note, texts))].join('\n')
}

function closeCall(id: string, state: string): CallIntent {
  return {
    type: 'call',
    tool: 'commitment_update',
    input: { id, state },
    purpose: 'change that promise',
    answer: (result, texts) =>
      texts.promiseClosed(
        state,
        readQueryAnswer(result).exact.map((note) => listNote(note, texts)),
      ),
  }
}

/** The answer of `memory_query`. */
interface QueryAnswer {
  count: number
  exact: NoteLine[]
  /** Further results found by words. */
  byWords: NoteLine[]
}

const divider = '\nFound by words:\n'

export function readQueryAnswer(result: ToolResult): QueryAnswer {
  const text = `\n${withoutWrapping(result)}`
  const end = text.indexOf(divider)
  const part = (from: number, to?: number) => readNoteLines({ ...result, text: text.slice(from, to) })
  return {
    count: Number(/^\nCount: (\d{1,9})(?:\n|$)/.exec(text)?.[1] ?? 0),
    exact: part(0, end < 0 ? undefined : end),
    byWords: end < 0 ? [] : part(end + divider.length),
  }
}

interface FittingNote {
  note: NoteLine
  /** The best matching part of the note, verbatim. */
  passage: string
  /** It contains every significant word of the question. */
  isFull: boolean
  /** How many of them it contains. */
  count: number
  /** The number of significant words in the question. */
  words: number
}

const shortNote = 200
/** "When does the bin go out?" is about the bin. */
const lightVerbs = new Set('go goes come comes get gets take takes put keep make makes use need want happen'.split(' '))
const ownWords = /(?<![\p{L}\p{N}])(?:i|i['’]\p{L}+|my|me|mine|we|our|us|myself)(?![\p{L}\p{N}])/iu

/** Question words and pronouns of other languages, which no note contains. English has its stop words. */
const questionWords = phrases.questionWords.join('|')
const spacedQuestionWords = new RegExp(`(?<![\\p{L}\\p{N}])(?:${questionWords})(?![\\p{L}\\p{N}])`, 'giu')
const unspacedQuestionWords = new RegExp(phrases.unspacedQuestionWords.join('|'), 'gu')

/**
 * Ranked by how many words of the question they contain; far worse ones and repetitions of a better one are left out.
 * Among notes with all words, those about the user come first if the user asks about themself, then the newer ones.
 */
export function bestNotes(notes: readonly NoteLine[], question: string, language: Language = 'en'): FittingNote[] {
  const { subject, isAbout } = readSubject(question, language)
  const all = contentWords(withoutQuestionWords(subject))
  const telling = all.filter((word) => !lightVerbs.has(word))
  const words = telling.length > 0 ? telling : all
  const isAboutUser = ownWords.test(question.slice(0, 400))
  const counted = notes.filter(isAbout).map((note, index) => {
    const count = countWords(`${note.text} ${note.tags.join(' ')}`, words)
    return { note, index, count, isOwn: isAboutUser && speaksOfUser(note) }
  })
  counted.sort((a, b) => {
    if (a.count !== b.count) return b.count - a.count
    if (a.count < words.length || words.length === 0) return a.index - b.index
    if (a.isOwn !== b.isOwn) return a.isOwn ? -1 : 1
    return a.note.day === b.note.day ? a.index - b.index : a.note.day < b.note.day ? 1 : -1
  })
  const most = counted[0]?.count ?? 0
  const fitting = counted
    .filter(({ count }) => count * 2 > most || count === most)
    .map(({ note, count }) => ({
      note,
      count,
      words: words.length,
      passage: bestSentence(note, words),
      isFull: words.length > 0 && count >= words.length,
    }))
  return withoutRepetitions(fitting)
}

function withoutQuestionWords(question: string): string {
  const read = question.normalize('NFC')
  const rest = read.replace(spacedQuestionWords, ' ').replace(unspacedQuestionWords, ' ')
  return /[\p{L}\p{N}]/u.test(rest) ? rest : read
}

/** About the user, not about another person. */
function speaksOfUser(note: NoteLine): boolean {
  return note.kind === 'note' ? ownWords.test(note.text.slice(0, 400)) : note.text.startsWith('user')
}

function withoutRepetitions(notes: readonly FittingNote[]): FittingNote[] {
  const kept: FittingNote[] = []
  for (const fitting of notes) {
    const words = contentWords(fitting.note.text).filter((word) => word !== 'user')
    const repeats = ({ note }: FittingNote) => words.length > 0 && countWords(note.text, words) === words.length
    if (!kept.some(repeats)) kept.push(fitting)
  }
  return kept
}

/** For an episode, the decision, if that is asked. */
function bestSentence({ text, kind }: NoteLine, words: readonly string[]): string {
  const decided = kind === 'episode' ? text.split('\n').find((line) => line.startsWith('Decided: ')) : undefined
  if (decided !== undefined && words.some((word) => /^deci[ds]/.test(word))) return decided
  if (text.length <= shortNote) return text
  const [first, ...others] = readSentences(text).map((sentence) => sentence.text)
  return others.reduce((best, next) => (countWords(next, words) > countWords(best, words) ? next : best), first ?? text)
}

const recallQuestionWords = "what what's when when's where where's who who's whose which how why".split(' ')
const questionPairs =
  'am i,do i,did i,have i,had i,was i,can i,should i,do we,did we,is my,are my,was my,were my,does my,did my,has my'
const asked = [...recallQuestionWords.flatMap((word) => [`tell me ${word}`, word]), ...questionPairs.split(',')]
const maxQueryLength = 400
const usualLimit = 5
const maxClosest = 3

export const recall: Ability = (sentence) => {
  const query = readQuery(sentence)
  return query === undefined ? undefined : recallIntent(query)
}

/** The question in the user's words; undefined if it is not a question. */
export function readQuery({ request, asks, bids }: Sentence): string | undefined {
  const about = afterPhrase(request, phrases.subjectLeads)
  if (about !== undefined && about !== '') return about
  // "Can you write a poem?" is a request for an action.
  if (asks && !bids) return request
  // "When I was ten I lived in Rome." begins like a question but is a statement.
  const ends = request.endsWith('.') || request.endsWith('!')
  return !ends && afterPhrase(request, asked) !== undefined ? request : undefined
}

export function recallIntent(question: string): CallIntent {
  const query = asQuery(question)
  return {
    type: 'call',
    tool: 'recall_memory',
    input: { query, limit: usualLimit },
    purpose: 'look into your notes',
    answer: (result, texts) => answerFrom(readNoteLines(result), query, texts),
  }
}

export function asQuery(question: string): string {
  return question.slice(0, maxQueryLength).toWellFormed().trim()
}

/** The note that answers it, or the closest ones. */
export function answerFrom(notes: readonly NoteLine[], question: string, texts: Texts): string {
  const isFitting = texts.language === 'en' ? isAboutIt : isCloselyAbout
  const [best, ...others] = bestNotes(notes, question, texts.language).filter(isFitting)
  if (!best)
    return isAdvice.test(question.slice(0, 200)) && notes.length > 0 ? closestOf(notes, texts) : texts.nothingFound
  const { note, passage, isFull } = best
  const first =
    isFull || note.isUntrusted
      ? tellNote(note, texts, passage)
      : texts.closest(noteText(note, passage), note.place ?? dateIn(note, texts), note.citation)
  if (others.length === 0) return first
  return [first, texts.also, ...others.map((other) => listNote(other.note, texts, other.passage))].join('\n')
}

/** "Can I eat shrimp?": an allergy that is known by another word must not be withheld. */
const isAdvice = /^(?:can|could|may|should) (?:i|we)\b/i

function closestOf(notes: readonly NoteLine[], texts: Texts): string {
  return [texts.closestOnes, ...notes.slice(0, maxClosest).map((note) => listNote(note, texts))].join('\n')
}

/**
 * A note with only one of several words is most likely about something else: "What is the weather in Berlin?" is not
 * answered by "I live in Berlin".
 */
function isAboutIt({ count, words, isFull }: FittingNote): boolean {
  return isFull || (count > 1 && count * 2 > words)
}

/** Texts in other languages are compared letter by letter, without stems: fewer words in common say less. */
function isCloselyAbout({ count, words, isFull }: FittingNote): boolean {
  return isFull || (count > 1 && count * 3 >= words * 2)
}

type PeopleQuestion = {
  attributes?: string[]
  value?: string
  /** The person whose values are counted; otherwise the people who have the value are counted. */
  about?: string
}

const maxQuestionLength = 200
const people = '(?:people|persons|friends|colleagues|relatives|others|of my (?:friends|colleagues|relatives))'
const countPeople = new RegExp(
  `^how many ${people}(?: (?:do i|that i|i) know)?(?: (?:who|that))? ((?:is|are|am|live|work|like|love|speak|play|come)s?\\b.+)$`,
  'i',
)
const countKnown = /^how many (.{2,80}) do i know$/i
const countOwn = /^how many (.{2,60}) do i have$/i
const whoIs =
  /^(?:who|which of my (?:friends|colleagues|relatives)|who do i know (?:who|that)) ((?:is|are) (?:an? |allergic to |from )|(?:live|work|like|love|speak|play|come)s? )(.{2,80})$/i
const predicates: readonly [RegExp, string][] = [
  [/^(?:is|are) allergic to /i, 'allergic to'],
  [/^(?:is|are|comes?) from /i, 'from'],
  [/^lives? in /i, 'lives in'],
  [/^works? as (?:an? )?/i, 'occupation'],
  [/^works? (?:at|for) /i, 'works at'],
  [/^(?:likes?|loves?) /i, 'likes'],
  [/^speaks? /i, 'speaks'],
  [/^plays? (?:the )?/i, 'plays'],
]

/** "How many people do I know who are marine biologists?", "Who lives in Rome?", "How many cats do I have?" */
export const askPeople: Ability = ({ request }) => {
  const question = readPeopleQuestion(request)
  if (!question) return undefined
  const words = asQuery(request)
  return queryOrRecall(request, 'look into your notes', { words, limit: 50, ...question }, (result, texts) =>
    answerPeople(result, question, words, texts),
  )
}

function readPeopleQuestion(request: string): PeopleQuestion | undefined {
  if (request.length > maxQuestionLength) return undefined
  const text = request.replaceAll('’', "'").replace(/[?!.\s]+$/, '')
  const counted = countPeople.exec(text)?.[1]
  if (counted !== undefined) return readPredicate(counted)
  const known = countKnown.exec(text)?.[1]
  if (known !== undefined && !/^people$/i.test(known)) return readPredicate(`are ${known}`)
  const own = countOwn.exec(text)?.[1]
  if (own !== undefined) return { about: 'user', attributes: [own] }
  const [, verb, rest] = whoIs.exec(text) ?? []
  return verb !== undefined && rest !== undefined ? readPredicate(`${verb}${rest}`) : undefined
}

function readPredicate(text: string): PeopleQuestion {
  for (const [pattern, attribute] of predicates) {
    if (pattern.test(text)) return { attributes: [attribute], value: text.replace(pattern, '') }
  }
  return { value: text.replace(/^(?:is|are|am) (?:an? )?/i, '') }
}

function answerPeople(result: ToolResult, { about }: PeopleQuestion, words: string, texts: Texts): string {
  const { count, exact, byWords } = readQueryAnswer(result)
  if (count === 0) return answerFrom(byWords, words, texts)
  const citations = new Map<string, string>()
  for (const { text, citation } of exact) {
    const fact = readFact(text)
    const name = about === undefined ? fact?.entity : fact?.value
    if (name !== undefined && !citations.has(name)) citations.set(name, citation)
  }
  return texts.counted(
    count,
    Array.from(citations, ([name, citation]) => `${name} ${citation}`),
  )
}
