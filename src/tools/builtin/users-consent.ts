import type { Fact } from '../../memory/facts.ts'
import type { Memory } from '../../memory/memory.ts'
import { agreements, forgetOrders, genericWords, wrongs } from '../../models/offline/correction-phrases.ts'
import { factSentence, readFact } from '../../models/offline/fact-sentence.ts'
import { afterPhrase, isPhrase } from '../../models/offline/phrase.ts'
import { readSentences } from '../../models/offline/sentence.ts'
import type { ToolContext } from '../tool.ts'
import { citeMemory, formatDate } from './memory-text.ts'
import { saidByUser, shareOf, tellingWordsOf } from './users-words.ts'

/**
 * Whether the user themself asked for a change to what they wrote: read from their own words of this turn, never from
 * what a model says of them. It would rather ask once too often.
 */
export type Consent =
  /** They named it by its citation, or said yes to being asked about just this. */
  | { given: 'exactly' }
  /** They named it by its words. Other memories may hold them too. */
  | { given: 'by_words'; words: readonly string[] }
  | { given: 'no' }

type UsersTurn = Pick<ToolContext, 'userText' | 'answers'>

// What is longer is a text that was pasted, and orders in it may be anyone's.
const longestOrder = 500
const corrections = [...wrongs, 'no', 'change', 'correct', 'update', 'edit', '/edit']
const undoings = ['undo', '/undo', 'bring it back', 'bring that back', 'put it back', 'restore', 'take that back']

export function consentToForget(turn: UsersTurn, memory: Memory, timeZone: string): Consent {
  if (agrees(turn, forgetQuestion(memory, timeZone))) return { given: 'exactly' }
  for (const { request, text } of sentencesOf(turn)) {
    const named = afterPhrase(request, forgetOrders)
    if (named === undefined) continue
    if (cites(text, memory)) return { given: 'exactly' }
    const words = tellingWordsOf(named).filter((word) => !genericWords.has(word))
    if (shareOf(words, memoryWords(memory)) === 1) return { given: 'by_words', words }
  }
  return { given: 'no' }
}

/** They said that it is wrong and how it is, and what is wrong is told apart by its citation or by its words. */
export function consentToEdit(
  turn: UsersTurn,
  memory: Memory,
  { content, timeZone }: { content: string; timeZone: string },
): boolean {
  if (agrees(turn, editQuestion(memory, { content, timeZone }))) return true
  const corrects = sentencesOf(turn).some(({ request, text }) => [request, text].some(isCorrection))
  if (!corrects || !saidByUser(content, turn.userText)) return false
  return cites(turn.userText, memory) || shareOf(tellingWordsOf(memory.content), turn.userText) >= 0.5
}

export function consentToUndo(turn: UsersTurn): boolean {
  return sentencesOf(turn).some(({ request }) => afterPhrase(request, undoings) !== undefined)
}

/** The same memory always makes the same question: an answer belongs to it only where it was asked word for word. */
export function forgetQuestion(memory: Memory, timeZone: string): string {
  return `You told me on ${formatDate(memory.createdAt, timeZone)}: ${quoted(told(memory))} ${citeMemory(memory.id)} Shall I forget it?`
}

export function editQuestion(memory: Memory, { content, timeZone }: { content: string; timeZone: string }): string {
  const { createdAt, id } = memory
  return `You told me on ${formatDate(createdAt, timeZone)}: ${quoted(told(memory))} ${citeMemory(id)} Shall I change it to ${quoted(content)}?`
}

export function factQuestion(known: Fact, value: string): string {
  return `I have ${quoted(factSentence(known))} ${citeMemory(known.id)} Shall I change it to ${quoted(value)}?`
}

/** They were asked exactly this, and said yes and nothing else. */
export function agrees({ userText, answers }: UsersTurn, question: string): boolean {
  return answers === question && isPhrase(userText.trim().replaceAll(',', ''), agreements)
}

/** Of the first line alone: what stands below it is often pasted. */
function sentencesOf({ userText }: UsersTurn) {
  return userText.length > longestOrder ? [] : readSentences(userText.trim().split('\n')[0] ?? '')
}

function isCorrection(sentence: string): boolean {
  return afterPhrase(sentence, corrections) !== undefined
}

function cites(text: string, { id }: Memory): boolean {
  const parts = text.split(/[\s,;()[\]]+/).map((part) => part.replace(/[.!?]+$/, ''))
  return parts.includes(id) || parts.includes(`memory:${id}`)
}

function memoryWords({ content, title, tags }: Memory): string {
  return [content, title ?? '', ...tags].join(' ')
}

/** As the user would say it. */
function told({ kind, content }: Memory): string {
  const fact = kind === 'fact' ? readFact(content) : undefined
  return fact ? factSentence(fact) : content
}

const longestQuote = 300

function quoted(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > longestQuote ? `“${line.slice(0, longestQuote).toWellFormed()} …”` : `“${line}”`
}
