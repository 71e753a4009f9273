import { contentWords } from '../../memory/content-words.ts'
import type { NoteLine } from './note-lines.ts'
import { readSentences } from './sentence.ts'

export interface FittingNote {
  note: NoteLine
  /** The part of the note that fits best, word for word. */
  passage: string
  /** It holds every word of the question that means something. */
  isFull: boolean
}

const shortNote = 200

/** Those that hold the most words of the question first, in the order found; the ones that hold far fewer left out. */
export function bestNotes(notes: readonly NoteLine[], words: readonly string[]): FittingNote[] {
  const counted = notes.map((note) => ({ note, count: countWords(note.text, words) })).sort((a, b) => b.count - a.count)
  const most = counted[0]?.count ?? 0
  return counted
    .filter(({ count }) => count * 2 > most || count === most)
    .map(({ note, count }) => ({ note, passage: bestPassage(note.text, words), isFull: count >= words.length }))
}

function bestPassage(text: string, words: readonly string[]): string {
  if (text.length <= shortNote) return text
  const [first, ...others] = readSentences(text).map((sentence) => sentence.text)
  return others.reduce((best, next) => (countWords(next, words) > countWords(best, words) ? next : best), first ?? text)
}

function countWords(text: string, words: readonly string[]): number {
  const known = contentWords(text, 400)
  return words.filter((word) => known.some((other) => haveOneStem(word, other))).length
}

/** Close enough to say that "allergic" and "allergy" are one word: a long beginning in common, short ends apart. */
function haveOneStem(a: string, b: string): boolean {
  if (a === b) return true
  const [shorter, longer] = a.length < b.length ? [a, b] : [b, a]
  let common = 0
  while (common < shorter.length && shorter[common] === longer[common]) common += 1
  if (longer.length - common > 3) return false
  return common >= 4 || (common >= 3 && common === shorter.length && longer.length - common === 1)
}
