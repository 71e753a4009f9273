import { sha256 } from '../../../base/hash.ts'
import type { Capability } from '../capability.ts'
import type { IndexedText } from './word-index.ts'

const mostLines = 6
const longestNotes = 400
const longestText = 700

/** By what a capability is found, as words. `notes` are the first lines of its RUN.md. */
export function indexedText({ name, description, tags }: Capability, notes: string): IndexedText[] {
  return [
    { text: name, weight: 2 },
    { text: description, weight: 1 },
    { text: tags.join(' '), weight: 1 },
    { text: notes, weight: 0.3 },
  ]
}

/** And as a meaning. */
export function meaningText({ name, description, tags }: Capability, notes: string): string {
  const text = `${name.replaceAll('_', ' ')}: ${description} ${tags.join(' ')} ${notes}`
  return text.slice(0, longestText).toWellFormed().trim()
}

/**
 * Stands for that text without a look at the files: a version never changes, so its RUN.md does not either. What is read
 * at every start are rows alone.
 */
export function meaningKey({ version, name, description, tags }: Capability): string {
  return sha256(JSON.stringify([version, name, description, tags]))
}

/** What a RUN.md says first, without the marks of its headings. */
export function firstLines(markdown: string): string {
  const lines = markdown.split('\n').map((line) => line.replace(/^[#>*\s-]+/, '').trim())
  return lines.filter(Boolean).slice(0, mostLines).join(' ').slice(0, longestNotes).toWellFormed()
}
