import { countWords } from '../../memory/best-passage.ts'
import { contentWords } from '../../memory/content-words.ts'
import type { NoteLine } from './note-lines.ts'
import { readSentences } from './sentence.ts'

export interface FittingNote {
  note: NoteLine
  /** The part of the note that fits best, word for word. */
  passage: string
  /** It holds every word of the question that means something. */
  isFull: boolean
  /** How many of them it holds. */
  count: number
}

const shortNote = 200
const ownWords = /(?<![\p{L}\p{N}])(?:i|i['’]\p{L}+|my|me|mine|we|our|us|myself)(?![\p{L}\p{N}])/iu

/**
 * Those that hold the most words of the question first; the ones that hold far fewer left out, and those that only
 * repeat a better one. Of those that hold all words, what is said of the user comes first where they ask about
 * themself, and then the newer.
 */
export function bestNotes(notes: readonly NoteLine[], question: string): FittingNote[] {
  const words = contentWords(question)
  const isAboutUser = ownWords.test(question.slice(0, 400))
  const counted = notes.map((note, index) => {
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
      passage: bestSentence(note, words),
      isFull: words.length > 0 && count >= words.length,
    }))
  return withoutRepetitions(fitting)
}

/** Of the user themself, not of somebody else. */
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

/** Of an episode, what was decided, where that is asked. */
function bestSentence({ text, kind }: NoteLine, words: readonly string[]): string {
  const decided = kind === 'episode' ? text.split('\n').find((line) => line.startsWith('Decided: ')) : undefined
  if (decided !== undefined && words.some((word) => /^deci[ds]/.test(word))) return decided
  if (text.length <= shortNote) return text
  const [first, ...others] = readSentences(text).map((sentence) => sentence.text)
  return others.reduce((best, next) => (countWords(next, words) > countWords(best, words) ? next : best), first ?? text)
}
