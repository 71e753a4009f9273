import { sha256 } from '../../../base/hash.ts'
import type { Capability } from '../capability.ts'
import type { IndexedText } from './word-index.ts'

const mostLines = 6
const longestNotes = 400
const longestText = 700
const textForm = 2

/** What a version tells of itself beyond its line of the catalog. */
export interface ToldText {
  /** The first lines of its RUN.md. */
  notes: string
  askedAs: readonly string[]
}

export const nothingTold: ToldText = { notes: '', askedAs: [] }

/** By what a capability is found, as words. */
export function indexedText({ name, description, tags }: Capability, { notes, askedAs }: ToldText): IndexedText[] {
  return [
    { text: name, weight: 2 },
    { text: description, weight: 1 },
    { text: tags.join(' '), weight: 1 },
    { text: askedAs.join(' '), weight: 1 },
    { text: notes, weight: 0.3 },
  ]
}

/** And as meanings: first what it says of itself, then each way to ask for it. */
export function meaningTexts({ name, description, tags }: Capability, { notes, askedAs }: ToldText): string[] {
  const text = `${name.replaceAll('_', ' ')}: ${description} ${tags.join(' ')} ${notes}`
  return [text.slice(0, longestText).toWellFormed().trim(), ...askedAs]
}

/**
 * Stands for these texts without a look at them: a version never changes, so neither do its RUN.md and how it is asked
 * for. Another form of the texts needs another number.
 */
export function meaningKey({ version, name, description, tags }: Capability): string {
  return sha256(JSON.stringify([textForm, version, name, description, tags]))
}

/** What a RUN.md says first, without the marks of its headings. */
export function firstLines(markdown: string): string {
  const lines = markdown.split('\n').map((line) => line.replace(/^[#>*\s-]+/, '').trim())
  return lines.filter(Boolean).slice(0, mostLines).join(' ').slice(0, longestNotes).toWellFormed()
}
