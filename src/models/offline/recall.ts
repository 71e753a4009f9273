import { contentWords } from '../../memory/content-words.ts'
import type { ToolResult } from '../../protocol/message.ts'
import type { Ability, Intent } from './ability.ts'
import { bestNotes } from './best-notes.ts'
import { readNoteLines } from './note-lines.ts'
import { afterPhrase } from './phrase.ts'
import type { Sentence } from './sentence.ts'
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

export const recall: Ability = {
  name: 'recall',
  matches(sentence) {
    const query = readQuery(sentence)
    return query === undefined ? undefined : recallIntent(query)
  },
}

function readQuery({ request, asks, bids }: Sentence): string | undefined {
  const about = afterPhrase(request, leads)
  if (about !== undefined && about !== '') return about
  // "Can you write a poem?" wants something done, not known.
  if (asks && !bids) return request
  // "When I was ten I lived in Rome." begins like a question and is none.
  const ends = request.endsWith('.') || request.endsWith('!')
  return !ends && afterPhrase(request, asked) !== undefined ? request : undefined
}

function recallIntent(question: string): Intent {
  const query = question.slice(0, longestQuery).toWellFormed().trim()
  return {
    type: 'call',
    tool: 'recall_memory',
    input: { query, limit: usualLimit },
    purpose: 'look into your notes',
    answer: (result) => answerFrom(result, contentWords(query)),
  }
}

function answerFrom(result: ToolResult, words: readonly string[]): string {
  const [best, ...others] = bestNotes(readNoteLines(result), words)
  if (!best) return texts.nothingFound
  const { note, passage, isFull } = best
  const first = (isFull ? texts.toldOn : texts.closest)(passage, note.date, note.citation)
  if (others.length === 0) return first
  const further = others.map((other) => texts.listed(other.passage, other.note.date, other.note.citation))
  return [first, texts.also, ...further].join('\n')
}
