import { z } from 'zod'
import { oneLine } from '../../base/text.ts'
import type { ChangedBy, CorrectionOutcome } from '../../memory/corrections.ts'
import { type Fact, readFact } from '../../memory/facts.ts'
import type { Memory, MemoryKind } from '../../memory/memory.ts'
import { mentionsAny } from '../../memory/names.ts'
import { contentWords, termOf } from '../../memory/words.ts'
import { factSentence } from '../../models/offline/notes.ts'
import { agreements, forgetOrders, genericWords, wrongs } from '../../models/offline/remember.ts'
import { afterPhrase, isPhrase, readSentences } from '../../models/offline/sentence.ts'
import type { Json } from '../../protocol/messages.ts'
import { defineTool, failed, succeeded, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts'
import { citeMemory, formatDate, type MemoryNeeds, noSuchMemory, readMemoryId } from './memory-query.ts'

const looked = 20
const sameShare = 0.8
const lastChanges = 50

type Needs = Pick<MemoryNeeds, 'memories' | 'recall' | 'corrections' | 'timeZone'>
type Forgotten = Extract<CorrectionOutcome, { ok: true }>

/** The agent's own memories are forgotten at once; the user's only on their request, and every attempt is reported. */
export function createMemoryForget(needs: Needs): Tool {
  const { memories, recall, corrections, timeZone } = needs
  const tool = defineTool({
    name: 'memory_forget',
    description: 'Forget or delete one memory by its id or exact title. Can be undone for 30 days.',
    input: z.object({ id: z.string().min(1) }),
    effect: 'idempotent',
    aliases: ['delete_memory'],
    async run({ id }, context) {
      const wanted = readMemoryId(id)
      const known = await memories.get(context.userId, wanted)
      let by: ChangedBy = known ? await changedBy(known, context) : 'agent'
      let outcome = await corrections.forget(context.userId, wanted, by)
      if (!outcome.ok && outcome.reason === 'users_own' && !known) {
        // It was named by its title.
        by = await changedBy(outcome.memory, context)
        outcome = await corrections.forget(context.userId, outcome.memory.id, by)
      }
      if (outcome.ok) return await tellForgotten(outcome, by, context)
      if (outcome.reason === 'users_own') {
        const refusal = `Not forgotten: ${citeMemory(outcome.memory.id)} is the user's own; only they can delete it.`
        return refuseAndAsk(refusal, forgetQuestion(outcome.memory, timeZone), context)
      }
      const changes = await corrections.changes(context.userId, lastChanges)
      const earlier = changes.find((change) => change.action === 'forgotten' && change.memoryId === wanted)
      if (!earlier) return failed(noSuchMemory(wanted))
      return succeeded(`Forgotten on ${formatDate(earlier.at, timeZone)} ${citeMemory(wanted)}`)
    },
  })
  return { ...tool, run: (input, context) => tool.run(withId(input), context) }

  async function changedBy(memory: Memory, context: ToolContext): Promise<ChangedBy> {
    const consent = consentToForget(context, memory, timeZone)
    if (consent.given === 'exactly') return 'user'
    if (consent.given === 'no') return 'agent'
    return (await isOnlyOne(memory, consent.words, context)) ? 'user' : 'agent'
  }

  /** No other memory of the user matches the words that they used. Repetitions do not count. */
  async function isOnlyOne(memory: Memory, words: readonly string[], context: ToolContext): Promise<boolean> {
    const found = await search(words.join(' '), ['note', 'fact', 'episode', 'commitment'], context)
    return found.every((other) => {
      if (other.id === memory.id || shareOf(words, `${other.content} ${other.title ?? ''}`) < 1) return true
      return tells(other, memory) || tells(memory, other)
    })
  }

  /** Facts extracted from a note are forgotten with it. After an extracted fact, the user is asked about the note. */
  async function tellForgotten(outcome: Forgotten, by: ChangedBy, context: ToolContext): Promise<ToolOutcome> {
    const { memory, alsoForgotten } = outcome
    const derived = memory.kind === 'note' ? await forgetDerived(memory, by, context) : []
    const others = alsoForgotten.length + derived.length
    const also = others > 0 ? `, with ${others} that repeat it` : ''
    const text = `Forgot ${citeMemory(memory.id)}${also}. memory_undo restores it for 30 days.`
    const note = memory.source === 'extracted' ? await noteTelling(memory, context) : undefined
    if (!note) return succeeded(text)
    return {
      ...succeeded(`${text} The user's own note ${citeMemory(note.id)} says it too.`),
      ...(context.userText.trim() !== '' && { question: forgetQuestion(note, timeZone) }),
    }
  }

  async function forgetDerived(note: Memory, by: ChangedBy, context: ToolContext): Promise<Memory[]> {
    const gone: Memory[] = []
    for (const fact of await search(note.content, ['fact'], context)) {
      const isFromIt = fact.source === 'extracted' && fact.turnId === note.turnId && tells(note, fact)
      // A fact that covers only little of the note may be known from elsewhere.
      if (!isFromIt || shareOf(tellingWordsOf(note.content), fact.content) <= 0.5) continue
      const outcome = await corrections.forget(fact.userId, fact.id, by)
      if (outcome.ok) gone.push(outcome.memory)
    }
    return gone
  }

  async function noteTelling(memory: Memory, context: ToolContext): Promise<Memory | undefined> {
    const notes = await search(memory.content, ['note'], context)
    return notes.find((note) => note.label === 'owner' && tells(note, memory))
  }

  async function search(text: string, kinds: MemoryKind[], { userId, signal }: ToolContext): Promise<Memory[]> {
    return (await recall.recall({ userId, text, kinds, limit: looked, signal })).map(({ memory }) => memory)
  }
}

/** An automated message has no user who could answer. */
export function refuseAndAsk(refusal: string, question: string, { userText }: ToolContext): ToolOutcome {
  if (userText.trim() === '') return failed(refusal)
  return { ...succeeded(`${refusal} They have been asked.`), question }
}

export function tells(memory: Memory, other: Memory): boolean {
  return shareOf(tellingWordsOf(other.content), memory.content) >= sameShare
}

/** Other systems name the id `memory_title` or `title`: these work too, and are not advertised. */
function withId(input: Json): Json {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return input
  const id = input.id ?? input.memory_title ?? input.title ?? null
  return id === null ? {} : { id }
}

const maxWords = 1_000
// The limit of `contentWords`: of a longer text only the beginning would be compared.
const readCharacters = 4_000
// A model writes "User likes tea" where the user says "I like tea".
const standIns = new Set(['user', 'users'])

/** The user's if nearly all of its words are from this turn's user message; otherwise the agent's, whatever it says. */
export function whoseWords(text: string, userText: string): 'user' | 'agent' {
  return shareSaid(text, userText) >= sameShare ? 'user' : 'agent'
}

function shareSaid(text: string, userText: string): number {
  if (mentionsAny([text])(userText)) return 1
  return text.length > readCharacters ? 0 : shareOf(tellingWordsOf(text), userText)
}

/**
 * Author and trust of a note. After untrusted content a model may write that as its own: then only a note whose words
 * the user said completely is theirs.
 */
export function authorOf(
  text: string,
  { userText, seen }: Pick<ToolContext, 'userText' | 'seen'>,
): { source: 'user' | 'agent'; label?: 'untrusted' } {
  if (!seen.untrusted) return { source: whoseWords(text, userText) }
  return saidByUser(text, userText) ? { source: 'user' } : { source: 'agent', label: 'untrusted' }
}

export function saidByUser(text: string, userText: string): boolean {
  return shareSaid(text, userText) === 1
}

/** The share of the words that the text contains, in any form; zero for no words. */
function shareOf(words: readonly string[], text: string): number {
  if (words.length === 0) return 0
  const there = contentWords(text, maxWords)
  return words.filter((word) => there.some((other) => termOf(word) === termOf(other))).length / words.length
}

function tellingWordsOf(text: string): string[] {
  return contentWords(text, maxWords).filter((word) => !standIns.has(word))
}

/** Determined from the user's words of this turn, never from what a model claims. If in doubt, it asks. */
type Consent =
  /** By citation, or by a yes to exactly this question. */
  | { given: 'exactly' }
  /** By its words. Other memories may contain them too. */
  | { given: 'by_words'; words: readonly string[] }
  | { given: 'no' }

type UsersTurn = Pick<ToolContext, 'userText' | 'answers'>

// A longer message is pasted text, and orders in it may be untrusted.
const maxOrderLength = 500
const corrections = [...wrongs, 'no', 'change', 'correct', 'update', 'edit', '/edit']
const undoings = ['undo', '/undo', 'bring it back', 'bring that back', 'put it back', 'restore', 'take that back']

export function consentToForget(turn: UsersTurn, memory: Memory, timeZone: string): Consent {
  if (agrees(turn, forgetQuestion(memory, timeZone))) return { given: 'exactly' }
  for (const { request, text } of sentencesOf(turn)) {
    const named = afterPhrase(request, forgetOrders)
    if (named === undefined) continue
    if (cites(text, memory)) return { given: 'exactly' }
    const words = tellingWordsOf(named).filter((word) => !genericWords.has(word))
    if (shareOf(words, [memory.content, memory.title ?? '', ...memory.tags].join(' ')) === 1) {
      return { given: 'by_words', words }
    }
  }
  return { given: 'no' }
}

/** The user said that it is wrong and what is right, and identified it by its citation or its words. */
export function consentToEdit(
  turn: UsersTurn,
  memory: Memory,
  { content, timeZone }: { content: string; timeZone: string },
): boolean {
  if (agrees(turn, editQuestion(memory, { content, timeZone }))) return true
  const isCorrection = (sentence: string) => afterPhrase(sentence, corrections) !== undefined
  const corrects = sentencesOf(turn).some(({ request, text }) => isCorrection(request) || isCorrection(text))
  if (!corrects || !saidByUser(content, turn.userText)) return false
  return cites(turn.userText, memory) || shareOf(tellingWordsOf(memory.content), turn.userText) >= 0.5
}

export function consentToUndo(turn: UsersTurn): boolean {
  return sentencesOf(turn).some(({ request }) => afterPhrase(request, undoings) !== undefined)
}

/** The same memory always gives the same question: an answer belongs to it only if it was asked word for word. */
export function forgetQuestion(memory: Memory, timeZone: string): string {
  return `${youSaid(memory, timeZone)} Should I forget it?`
}

export function editQuestion(memory: Memory, { content, timeZone }: { content: string; timeZone: string }): string {
  return `${youSaid(memory, timeZone)} Should I change it to ${quoted(content)}?`
}

export function factQuestion(known: Fact, value: string): string {
  return `I have ${quoted(factSentence(known))} ${citeMemory(known.id)} Should I change it to ${quoted(value)}?`
}

export function agrees({ userText, answers }: UsersTurn, question: string): boolean {
  return answers === question && isPhrase(userText.trim().replaceAll(',', ''), agreements)
}

/** The first line only: text below it is often pasted. */
function sentencesOf({ userText }: UsersTurn) {
  return userText.length > maxOrderLength ? [] : readSentences(userText.trim().split('\n')[0] ?? '')
}

function cites(text: string, { id }: Memory): boolean {
  const parts = text.split(/[\s,;()[\]]+/).map((part) => part.replace(/[.!?]+$/, ''))
  return parts.includes(id) || parts.includes(`memory:${id}`)
}

function youSaid({ id, kind, content, createdAt }: Memory, timeZone: string): string {
  const fact = kind === 'fact' ? readFact(content) : undefined
  const said = quoted(fact ? factSentence(fact) : content)
  return `You told me on ${formatDate(createdAt, timeZone)}: ${said} ${citeMemory(id)}`
}

const maxQuoteLength = 300

function quoted(text: string): string {
  const line = oneLine(text)
  return line.length > maxQuoteLength ? `“${line.slice(0, maxQuoteLength).toWellFormed()} …”` : `“${line}”`
}
