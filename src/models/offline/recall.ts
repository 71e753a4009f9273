import type { Ability, CallIntent } from './ability.ts'
import { bestNotes } from './best-notes.ts'
import { type NoteLine, readNoteLines } from './note-lines.ts'
import { afterPhrase } from './phrase.ts'
import type { Sentence } from './sentence.ts'
import { listNote, noteText, tellNote } from './tell-note.ts'
import { texts } from './texts.ts'

/** Ways of asking that say nothing about what is asked for. */
const leads = [
  'what did i tell you about',
  'what have i told you about',
  'what did i say about',
  'what do you know about',
  'what do you remember about',
  'what do you have on',
  'do you remember',
  'do you know',
  'remember',
  'tell me about',
  'tell me something about',
  'tell me more about',
  'what about',
  'is it true that',
  'know',
  'remind me',
  'search my notes for',
  'search my notes',
  'search for',
  'search',
  'look up',
  'find my note about',
  'find my notes about',
  'find my notes on',
  'recall',
  '/recall',
]
const questionWords = "what what's when when's where where's who who's whose which how why".split(' ')
const questionPairs =
  'am i,do i,did i,have i,had i,was i,can i,should i,do we,did we,is my,are my,was my,were my,does my,did my,has my'
const asked = [...questionWords.flatMap((word) => [`tell me ${word}`, word]), ...questionPairs.split(',')]
const longestQuery = 400
const usualLimit = 5
const mostClosest = 3

export const recall: Ability = {
  name: 'recall',
  matches(sentence) {
    const query = readQuery(sentence)
    return query === undefined ? undefined : recallIntent(query)
  },
}

/** What is asked, in the user's words; undefined for what is no question. */
export function readQuery({ request, asks, bids }: Sentence): string | undefined {
  const about = afterPhrase(request, leads)
  if (about !== undefined && about !== '') return about
  // "Can you write a poem?" wants something done, not known.
  if (asks && !bids) return request
  // "When I was ten I lived in Rome." begins like a question and is none.
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
    answer: (result) => answerFrom(readNoteLines(result), query),
  }
}

export function asQuery(question: string): string {
  return question.slice(0, longestQuery).toWellFormed().trim()
}

/** The note that says it, or the closest ones. */
export function answerFrom(notes: readonly NoteLine[], question: string): string {
  const [best, ...others] = bestNotes(notes, question)
  if (!best) return texts.nothingFound
  if (best.count === 0) return closestOf(notes)
  const { note, passage, isFull } = best
  const first =
    isFull || note.isUntrusted
      ? tellNote(note, passage)
      : texts.closest(noteText(note, passage), note.place ?? note.date, note.citation)
  if (others.length === 0) return first
  return [first, texts.also, ...others.map((other) => listNote(other.note, other.passage))].join('\n')
}

/** No word of the question is in any: they were found by what they mean, and in that order. */
function closestOf(notes: readonly NoteLine[]): string {
  return [texts.closestOnes, ...notes.slice(0, mostClosest).map((note) => listNote(note))].join('\n')
}
