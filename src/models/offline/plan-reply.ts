import { canonicalJson, isRecord } from '../../base/json.ts'
import { readDates } from '../../memory/dates.ts'
import { readFact } from '../../memory/facts.ts'
import { isTrivial } from '../../memory/learning/exchange.ts'
import { hasPlainStatements } from '../../memory/learning/plain-statements.ts'
import { contentWords, countWords } from '../../memory/words.ts'
import type { ToolCallPart, ToolResult } from '../../protocol/messages.ts'
import { approvedText, deniedText } from '../../security/approval-texts.ts'
import { readSpokenAnswer } from '../../security/spoken-answer.ts'
import { everydayWith } from './everyday.ts'
import {
  answerFrom,
  askPeople,
  asQuery,
  bestNotes,
  promises,
  queryOrRecall,
  readQuery,
  readQueryAnswer,
  recall,
  recallIntent,
} from './memory-answers.ts'
import {
  type AskedFact,
  dateIn,
  listNote,
  type NoteLine,
  readFactQuestion,
  readNoteLines,
  tellNote,
  withoutWrapping,
} from './notes.ts'
import phrases from './phrases.json' with { type: 'json' }
import { type Before, nothingBefore } from './read-turn.ts'
import {
  agreements,
  extensible,
  forgetOrders,
  genericWords,
  matchesWholeNote,
  noteIntent,
  remember,
  wrongs,
} from './remember.ts'
import { dueReminder, reminders } from './reminders.ts'
import {
  type Ability,
  afterPhrase,
  type CallIntent,
  hasWords,
  type Intent,
  isPhrase,
  readSentences,
  say,
} from './sentence.ts'
import { calculate, smallTalk } from './small-talk.ts'
import type { Texts } from './texts.ts'
import { matchesToolRun, useWeb } from './use-tool.ts'

// Words of asking and of time: the rest is the subject.
const setAside = new Set(phrases.askedAndTimeWords)

/** "What did I tell you last week?", "What did we decide about the kitchen in May?" */
const askByDate: Ability = (sentence) => {
  const question = readQuery(sentence)
  if (question === undefined || question.length > 400 || !readDates(sentence.request, 0, 'UTC')) return undefined
  const words = contentWords(question).filter((word) => !setAside.has(word) && !/^\d+(?:st|nd|rd|th)?$/.test(word))
  const input = { when: asQuery(sentence.request), ...(words.length > 0 && { words: words.join(' ') }) }
  return queryOrRecall(question, 'look into what was said then', input, (result, texts) =>
    answerThen(result, sentence.request, texts),
  )
}

function answerThen(result: ToolResult, question: string, texts: Texts): string | Intent {
  const { exact } = readQueryAnswer(result)
  if (exact.length === 0) return elsewhere(question)
  const passages = new Map(bestNotes(exact, question).map(({ note, passage }) => [note.id, passage]))
  return [texts.fromThen, ...exact.map((note) => listNote(note, texts, passages.get(note.id)))].join('\n')
}

/** Nothing from that time: searches without the date. */
function elsewhere(question: string): Intent {
  const intent = recallIntent(question)
  return {
    ...intent,
    answer(result, texts) {
      const notes = readNoteLines(result)
      return notes.length === 0 ? texts.nothingThen : `${texts.nothingThen} ${answerFrom(notes, question, texts)}`
    },
  }
}

/** "When is Anna's birthday?", "Where do I live?", "What was my address before?": answered from facts, else from notes. */
const askFacts: Ability = ({ request, asks, bids }) => {
  if (bids || (!asks && !/^(?:what|when|where|who|which|how)\b/i.test(request))) return undefined
  const question = readFactQuestion(request)
  if (!question) return undefined
  const { about, attributes, history } = question
  const words = asQuery(request)
  const hasDate = readDates(request, 0, 'UTC') !== undefined
  const more = { ...(history && { history }), ...(hasDate && { when: words }) }
  const input = { about, attributes: [...attributes], words, ...more }
  return queryOrRecall(request, 'look into your notes', input, (result, texts) =>
    answerFact(result, question, words, texts),
  )
}

function answerFact(result: ToolResult, { history }: AskedFact, words: string, texts: Texts): string {
  const { exact, byWords } = readQueryAnswer(result)
  const facts = history ? exact.filter((fact) => fact.until !== undefined) : exact
  if (facts.length === 0) return answerFrom(byWords, words, texts)
  return [
    ...facts.map((fact) => tellNote(fact, texts)),
    ...(history ? [] : toldSince(facts, byWords, words, texts)),
  ].join('\n')
}

/** Noted later, and not yet extracted as a fact: the user should see both. */
function toldSince(facts: readonly NoteLine[], notes: readonly NoteLine[], words: string, texts: Texts): string[] {
  const newest =
    facts
      .map((fact) => fact.day)
      .toSorted()
      .at(-1) ?? ''
  const values = facts.map(({ text }) => readFact(text)?.value.toLowerCase() ?? '')
  // On the same day the order is unknown: a note with another value may be the newer one.
  const isOther = ({ text }: NoteLine) => !values.some((value) => value !== '' && text.toLowerCase().includes(value))
  const newer = bestNotes(notes, words).filter(
    ({ note, isFull }) => isFull && note.kind === 'note' && note.day >= newest && isOther(note),
  )
  return newer.length === 0 ? [] : [texts.newer, ...newer.map(({ note, passage }) => listNote(note, texts, passage))]
}

const denials = ['no', 'nope', 'actually no', 'no actually']
const maxCorrectionLength = 500

/** "That is wrong: my shoe size is 43." The whole message is the correction. */
function matchesCorrection(message: string, { cited }: Before): Intent | undefined {
  if (message.length > maxCorrectionLength) return undefined
  const told = afterPhrase(message, wrongs) ?? deniedWith(message, cited)
  if (told === undefined) return undefined
  const content = told.replace(/^[\s.,:;!–—-]+/, '')
  if (!hasWords(content)) return say((texts) => texts.correctHow)
  const [id] = cited
  return id === undefined || content.endsWith('?') ? undefined : editCall(id, content)
}

const undo: Ability = ({ request }) => {
  return isPhrase(request, phrases.undoings) ? undoCall : undefined
}

const undoCall: Intent = {
  type: 'call',
  tool: 'memory_undo',
  input: {},
  purpose: 'undo that',
  answer: (result, texts) => [texts.undone, ...readNoteLines(result).map((note) => listNote(note, texts))].join('\n'),
  otherwise: say((texts) => texts.forget),
}

function editCall(id: string, content: string): CallIntent {
  return {
    type: 'call',
    tool: 'memory_edit',
    input: { id, content },
    purpose: 'correct that',
    answer: (_, texts) => texts.corrected(content, `[memory:${id}]`),
    // If it cannot be changed in place, it is stored again: of two that match, the newer comes first.
    otherwise: noteIntent(content),
    ifRefused: noteIntent(content),
  }
}

/** A plain "no" corrects only the last answer, and only if it states something. */
function deniedWith(message: string, cited: readonly string[]): string | undefined {
  const told = cited.length > 0 ? afterPhrase(message, denials) : undefined
  return told !== undefined && hasPlainStatements(told) ? told : undefined
}

const pointers = ['it', 'that', 'this', 'that one', 'this one', 'that note', 'this note', 'the note', 'that again']
const wholes = ['everything about', 'all about', 'everything you know about', 'everything', 'all']
const looked = 10
const cannot = say((texts) => texts.forget)

/** By its citation, by reference to the last answer, or by its words; it must be unambiguous. */
const forget: Ability = ({ request, text }, { cited }) => {
  const named = afterPhrase(request, forgetOrders)
  if (named === undefined) return undefined
  return forgetNamed(named, text, cited)
}

function forgetNamed(named: string, text: string, cited: readonly string[]): Intent {
  const id = /memory:([\w-]{1,64})/.exec(text.slice(0, 400))?.[1]
  if (id !== undefined) return forgetCall(id)
  if (!hasWords(named)) return say((texts) => texts.forgetWhat)
  const [newest] = cited
  if (isPhrase(named, pointers)) return newest === undefined ? say((texts) => texts.forgetWhat) : forgetCall(newest)
  const whole = afterPhrase(named, wholes)
  if (whole !== undefined) return say((texts) => texts.forgetEverything(whole))
  return wordsOf(named).length === 0 ? say((texts) => texts.forgetWhat) : findCall(named)
}

function forgetCall(id: string): CallIntent {
  return {
    type: 'call',
    tool: 'memory_forget',
    input: { id },
    purpose: 'forget that',
    answer: (_, texts) => texts.forgotten(`[memory:${id}]`),
    otherwise: cannot,
  }
}

function findCall(named: string): CallIntent {
  const query = asQuery(named)
  return {
    type: 'call',
    tool: 'recall_memory',
    input: { query, limit: looked },
    purpose: 'look up what to forget',
    answer: (result, texts) => forgetFound(result, query, texts),
    leadsTo: 'memory_forget',
    otherwise: cannot,
  }
}

function forgetFound(result: ToolResult, query: string, texts: Texts): string | Intent {
  const words = wordsOf(query)
  // A passage of a file is forgotten by changing the file, one of a conversation with its memory.
  const notes = readNoteLines(result).filter((note) => note.place === undefined && note.speaker === undefined)
  const holding = notes.filter(({ text, tags }) => {
    return countWords(`${text} ${tags.join(' ')}`, words) === words.length
  })
  // Facts extracted from a note are forgotten with it.
  const told = holding.filter((note) => note.kind === 'note' || !holding.some((other) => isToldBy(note, other)))
  const [first, ...others] = bestNotes(told, words.join(' ')).map(({ note }) => note)
  if (first && others.length === 0) return forgetCall(first.id)
  if (first) return [texts.forgetWhich, ...[first, ...others].map((note) => listNote(note, texts))].join('\n')
  const closest = notes.slice(0, 3)
  if (closest.length === 0) return texts.nothingToForget
  return [texts.nothingJustSo, ...closest.map((note) => listNote(note, texts))].join('\n')
}

function wordsOf(named: string): string[] {
  return contentWords(named).filter((word) => !genericWords.has(word))
}

function isToldBy({ text }: NoteLine, note: NoteLine): boolean {
  const words = contentWords(text).filter((word) => word !== 'user')
  return note.kind === 'note' && countWords(note.text, words) >= words.length * 0.8
}

const changing = ['memory_forget', 'memory_edit']
const refusals = ['no', 'no thanks', 'no thank you', 'nope', "don't", 'do not', 'leave it', 'keep it', 'never mind']

/** The answer to a tool's question: its action is done now, or dropped. */
const confirm: Ability = ({ text }, { asking }) => {
  if (asking?.about === undefined || !changing.includes(asking.call.name)) return undefined
  const answer = text.replaceAll(',', '')
  if (isPhrase(answer, refusals)) return say((texts) => texts.leftAsIs)
  if (!isPhrase(answer, agreements)) return undefined
  if (asking.call.name === 'memory_forget') return forgetCall(asking.about)
  const content = isRecord(asking.call.input) ? asking.call.input.content : undefined
  return typeof content === 'string' ? editCall(asking.about, content) : undefined
}

const maxListed = 20

const listNotes: Ability = ({ request }) => (isPhrase(request, phrases.noteLists) ? listIntent : undefined)

const listIntent: Intent = {
  type: 'call',
  tool: 'recall_memory',
  // An empty query lists the newest.
  input: { query: '', limit: maxListed },
  purpose: 'look up your notes',
  answer(result, texts) {
    const notes = readNoteLines(result)
    if (notes.length === 0) return texts.noNotes
    return [texts.notes, ...notes.map((note) => texts.listed(note.text, dateIn(note, texts), note.citation))].join('\n')
  },
}

const maxStatementLength = 500

function patterns(sources: readonly string[]): RegExp[] {
  return sources.map((source) => new RegExp(source, 'iu'))
}

/** Patterns of questions without a question mark. */
const asksInOtherScript = patterns(phrases.asksInOtherScript)

/** Patterns of requests that need a language model. */
const bidsInOtherScript = patterns(phrases.bidsInOtherScript)

/** Statements about the user in Latin-script languages, whose requests have other forms. */
const statesInLatinScript = patterns(phrases.statesInLatinScript)

/** A statement in another language than English is stored as said; anything more needs a language model. */
const otherLanguages: Ability = ({ text, asks }) => {
  const said = text.trim()
  if (asks || said.length > maxStatementLength) return undefined
  if (!isOtherScript(said)) return statesInLatinScript.some((form) => form.test(said)) ? keep(said) : undefined
  if (isTrivial(said) || bidsInOtherScript.some((form) => form.test(said))) return undefined
  return asksInOtherScript.some((form) => form.test(said)) ? recallIntent(said) : keep(said)
}

function keep(said: string) {
  const note = noteIntent(said)
  const answer: typeof note.answer = (result, texts) => `${note.answer(result, texts)} ${texts.onlyKept}`
  return { ...note, answer }
}

function isOtherScript(text: string): boolean {
  const letters = text.match(/\p{L}/gu) ?? []
  return letters.filter((letter) => !/\p{sc=Latin}/u.test(letter)).length * 2 > letters.length
}

const whole = ['status', '/status', 'your status', 'show status', 'cost', 'costs', '/cost', 'uptime', 'are you running']

const status: Ability = ({ request }) => {
  if (!isPhrase(request, whole) && afterPhrase(request, phrases.statusQuestions) === undefined) return undefined
  return {
    type: 'call',
    tool: 'session_status',
    input: {},
    purpose: 'read my status',
    answer: (result) => withoutWrapping(result) || 'There is no status to report.',
  }
}

/** The same requests in other languages. */
const everyday: Ability = (sentence, before) =>
  everydayWith({
    note: extensible,
    recall: recallIntent,
    forget: (named) => forgetNamed(named, sentence.text, before.cited),
    undo: undoCall,
    notes: listIntent,
  })(sentence, before)

// The first match takes the sentence: narrow forms come before wide ones, and general questions last.
const abilities: readonly Ability[] = [
  confirm,
  everyday,
  smallTalk,
  status,
  calculate,
  useWeb,
  undo,
  forget,
  reminders,
  listNotes,
  promises,
  remember,
  askPeople,
  askFacts,
  askByDate,
  recall,
  otherLanguages,
]
const maxIntents = 8
const looksUp = ['recall_memory', 'memory_query']

/** The requests in the user's message, in order. Never empty. */
export function planReply(message: { words: string; files: readonly string[]; before?: Before }): Intent[] {
  const { words, files, before = nothingBefore } = message
  const isEmpty = !hasWords(words)
  if (files.length === 0 && isEmpty) return [say((texts) => texts.nothingSaid)]
  const intents = isEmpty ? [] : readIntents(words, before)
  if (files.length === 0) return tidy(intents)
  // A question beside a file is most likely about the file, which cannot be read here.
  const others = intents.filter((intent) => intent.type === 'call' && !looksUp.includes(intent.tool))
  return [say((texts) => texts.files(nameFiles(files, texts))), ...others]
}

function readIntents(words: string, before: Before): Intent[] {
  const approval = matchesApproval(words, before)
  if (approval) return approval
  const due = dueReminder(words)
  if (due !== undefined) return [say((texts) => texts.reminderDue(due))]
  const whole = matchesWholeNote(words) ?? matchesToolRun(words) ?? matchesCorrection(words, before)
  if (whole) return [whole]
  const intents: Intent[] = []
  for (const sentence of readSentences(words)) {
    const intent = abilities
      .values()
      .map((read) => read(sentence, before))
      .find((read) => read !== undefined)
    const last = intents.at(-1)
    if (intent) intents.push(intent)
    else if (last?.type === 'call' && last.extend) intents[intents.length - 1] = last.extend(sentence)
    else intents.push(say(sentence.text, 'unknown'))
  }
  return intents
}

function tidy(intents: readonly Intent[]): Intent[] {
  const wanted = intents.filter((intent) => intent.type === 'call' || intent.kind === 'answer')
  const unknown = intents.filter((intent) => intent.type === 'say' && intent.kind === 'unknown')
  if (wanted.length === 0) return unknown.length > 0 ? [say((texts) => texts.unknown)] : intents.slice(0, 1)
  const kept = wanted.slice(0, maxIntents)
  if (wanted.length > kept.length) kept.push(say((texts) => texts.tooMuch(maxIntents)))
  const [strange] = unknown
  const unclear = strange?.type === 'say' ? strange.text : undefined
  if (typeof unclear === 'string') kept.push(say((texts) => texts.alsoUnknown(unclear)))
  return kept
}

const maxNames = 10

function nameFiles(files: readonly string[], texts: Texts): string {
  const names = files.slice(0, maxNames).map(texts.quoted)
  const rest = files.length > maxNames ? ` and ${files.length - maxNames} more files` : ''
  return `${names.join(', ')}${rest}`
}

/**
 * The answer to an approval question, in words or reported by the system: waiting calls are repeated exactly, or
 * dropped. Whether they may be made is not decided here.
 */
function matchesApproval(words: string, { waiting, told }: Before): Intent[] | undefined {
  if (waiting.length === 0) return undefined
  const heard = `${told}\n${words}`
  const answered = (text: typeof approvedText) =>
    waiting.filter(({ name, input }) => heard.includes(text({ tool: name, arguments: canonicalJson(input) })))
  const approved = answered(approvedText)
  if (approved.length > 0) return approved.flatMap(repeat)
  if (answered(deniedText).length > 0) return [say((texts) => texts.leftAsIs)]
  // The answer may be too late: then the call asks again.
  const spoken = readSpokenAnswer(words)
  if (spoken === 'approve') return waiting.flatMap(repeat)
  return spoken === 'deny' ? [say((texts) => texts.leftAsIs)] : undefined
}

function repeat({ name, input }: ToolCallPart): CallIntent[] {
  if (!isRecord(input)) return []
  const answer: CallIntent['answer'] = (result, texts) => withoutWrapping(result) || texts.done
  return [{ type: 'call', tool: name, input, purpose: 'do that', answer }]
}
