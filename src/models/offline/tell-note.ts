import { debtSentence, factSentence, readFact } from './fact-sentence.ts'
import type { NoteLine } from './note-lines.ts'
import { texts } from './texts.ts'

/** What the note says, in words for the user. */
export function noteText(note: NoteLine, passage = note.text): string {
  if (note.kind === 'commitment') return debtSentence(note.text)
  const fact = note.kind === 'fact' ? readFact(note.text) : undefined
  return fact ? factSentence(fact) : passage
}

/** As the answer itself: in the user's words, with where it comes from, when, and its citation. */
export function tellNote(note: NoteLine, passage?: string): string {
  const text = noteText(note, passage)
  const { date, citation } = note
  // A file that the user had indexed is named and quoted: what it is worth they know best.
  if (note.isUntrusted && note.place === undefined) return texts.untrusted(text, date, citation)
  if (note.until !== undefined) return texts.history(text, note.until, citation)
  if (note.kind === 'fact') return texts.fact(text, date, citation)
  if (note.kind === 'commitment') return texts.promise(text, note.due ?? '', citation)
  if (note.place !== undefined) return texts.fileSays(text, note.place, citation)
  if (note.speaker === 'assistant') return texts.iSaid(text, date, citation)
  return texts.toldOn(text, date, citation)
}

/** As one of several. */
export function listNote(note: NoteLine, passage?: string): string {
  const text = noteText(note, passage)
  if (note.kind === 'commitment') return `- ${texts.promise(text, note.due ?? '', note.citation)}`
  const source =
    note.isUntrusted && note.place === undefined ? `${texts.fromOthers}, ${note.date}` : (note.place ?? note.date)
  return texts.listed(text, note.until === undefined ? source : `until ${note.until}`, note.citation)
}
