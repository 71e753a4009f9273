import { countWords } from '../../memory/best-passage.ts'
import { contentWords } from '../../memory/content-words.ts'
import type { ToolResult } from '../../protocol/message.ts'
import { type Ability, type CallIntent, type Intent, say } from './ability.ts'
import { bestNotes } from './best-notes.ts'
import { forgetOrders, genericWords } from './correction-phrases.ts'
import { type NoteLine, readNoteLines } from './note-lines.ts'
import { afterPhrase, hasWords, isPhrase } from './phrase.ts'
import { asQuery } from './recall.ts'
import { listNote } from './tell-note.ts'
import { texts } from './texts.ts'

const pointers = ['it', 'that', 'this', 'that one', 'this one', 'that note', 'this note', 'the note', 'that again']
const wholes = ['everything about', 'all about', 'everything you know about', 'everything', 'all']
const looked = 10
const cannot = say(texts.forget)

/** By its citation, by pointing at what was just told, or by its words; which one is meant must be clear. */
export const forget: Ability = {
  name: 'forget',
  matches({ request, text }, { cited }) {
    const named = afterPhrase(request, forgetOrders)
    if (named === undefined) return undefined
    const id = /memory:([\w-]{1,64})/.exec(text.slice(0, 400))?.[1]
    if (id !== undefined) return forgetCall(id)
    if (!hasWords(named)) return say(texts.forgetWhat)
    const [newest] = cited
    if (isPhrase(named, pointers)) return newest === undefined ? say(texts.forgetWhat) : forgetCall(newest)
    const whole = afterPhrase(named, wholes)
    if (whole !== undefined) return say(texts.forgetEverything(whole))
    return wordsOf(named).length === 0 ? say(texts.forgetWhat) : findCall(named)
  },
}

export function forgetCall(id: string): CallIntent {
  return {
    type: 'call',
    tool: 'memory_forget',
    input: { id },
    purpose: 'forget that',
    answer: () => texts.forgotten(`[memory:${id}]`),
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
    answer: (result) => forgetFound(result, query),
    leadsTo: 'memory_forget',
    otherwise: cannot,
  }
}

function forgetFound(result: ToolResult, query: string): string | Intent {
  const words = wordsOf(query)
  // A passage of a file is forgotten by changing the file, one of a conversation with what it told.
  const notes = readNoteLines(result).filter((note) => note.place === undefined && note.speaker === undefined)
  const holding = notes.filter(({ text, tags }) => {
    return countWords(`${text} ${tags.join(' ')}`, words) === words.length
  })
  // What was read from a note goes with it.
  const told = holding.filter((note) => note.kind === 'note' || !holding.some((other) => isToldBy(note, other)))
  const [first, ...others] = bestNotes(told, words.join(' ')).map(({ note }) => note)
  if (first && others.length === 0) return forgetCall(first.id)
  if (first) return [texts.forgetWhich, ...[first, ...others].map((note) => listNote(note))].join('\n')
  const closest = notes.slice(0, 3)
  if (closest.length === 0) return texts.nothingToForget
  return [texts.nothingJustSo, ...closest.map((note) => listNote(note))].join('\n')
}

function wordsOf(named: string): string[] {
  return contentWords(named).filter((word) => !genericWords.has(word))
}

function isToldBy({ text }: NoteLine, note: NoteLine): boolean {
  const words = contentWords(text).filter((word) => word !== 'user')
  return note.kind === 'note' && countWords(note.text, words) >= words.length * 0.8
}
