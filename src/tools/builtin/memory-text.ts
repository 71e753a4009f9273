import { dayOf, formatDay } from '../../base/calendar.ts'
import { citePlace, type FilePlace } from '../../memory/files/cite-file.ts'
import type { Memory, MemoryKind, MemoryLabel } from '../../memory/memory.ts'
import type { ToolOutcome } from '../tool.ts'

/** What a model is shown of a memory. */
export interface ShownMemory {
  id: string
  at: number
  text: string
  kind?: MemoryKind | undefined
  label?: MemoryLabel | undefined
  title?: string | null | undefined
  tags?: readonly string[] | undefined
  /** History: from then on it was no longer true. */
  until?: number | null | undefined
  /** `in trip.md:12-18`, or who said it. */
  origin?: string | undefined
  /** Of a commitment. */
  due?: string | undefined
}

/** What a tool answers that tells memories: the user's own, and not to be trusted where one of them is not. */
export function tellMemories(text: string, told: readonly Pick<ShownMemory, 'label'>[]): ToolOutcome {
  const isUntrusted = told.some(({ label }) => label === 'untrusted')
  return { text, isError: false, isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) }
}

/** How a memory is cited, by the model and to the user. */
export function citeMemory(id: string): string {
  return `[memory:${id}]`
}

/** The id in `[memory:ID]`, `memory:ID` or `ID`: models copy the citation as often as the id. */
export function readMemoryId(text: string): string {
  const trimmed = text.trim()
  const cited = trimmed.startsWith('[') && trimmed.endsWith(']') ? trimmed.slice(1, -1) : trimmed
  return cited.startsWith('memory:') ? cited.slice('memory:'.length) : cited
}

/** Told to a model that named a memory which is not there, or is another user's: both are the same. */
export function noSuchMemory(named: string): string {
  return `There is no memory with the id or title ${named.slice(0, 80).toWellFormed()}.`
}

export function showMemory(memory: Memory, place?: FilePlace): ShownMemory {
  const { id, kind, label, title, tags } = memory
  const origin = place ? `in ${citePlace(place)}` : originOf(memory)
  return {
    id,
    kind,
    label,
    title,
    tags,
    origin,
    at: memory.createdAt,
    text: memory.content,
    until: memory.supersededAt,
  }
}

function originOf({ speaker, label, source }: Memory): string | undefined {
  if (speaker !== null) return `said by ${speaker}`
  return label === 'untrusted' ? `from ${source}` : undefined
}

/**
 * A memory for a model to read: `[memory:ID] 2026-11-15 (fact; until 2026-12-01; tags: home) text`, the brackets only
 * where there is something to say. Further lines are indented, so that no memory's text can pass for another one; what
 * is not to be trusted stands in quotes and cannot end them.
 */
export function renderMemory(memory: ShownMemory, timeZone: string): string {
  const marks = marksOf(memory, timeZone)
  const head = `${citeMemory(memory.id)} ${formatDate(memory.at, timeZone)}`
  if (memory.label === 'untrusted') return `${head} [untrusted] ${marks}${JSON.stringify(memory.text)}`
  return `${head} ${marks}${memory.text.replaceAll(lineBreak, '\n  ')}`
}

/** `2026-11-15`, as the calendar stood where the user lives. */
export function formatDate(time: number, timeZone: string): string {
  return formatDay(dayOf(time, timeZone))
}

const lineBreak = /\r\n|[\r\n\u2028\u2029]/g

function marksOf({ kind, title, tags = [], until, origin, due }: ShownMemory, timeZone: string): string {
  const marks: string[] = []
  // A note is the usual kind, and of a passage its origin says enough.
  if (kind && kind !== 'note' && kind !== 'chunk') marks.push(kind)
  if (origin) marks.push(origin.replaceAll(/\s+/g, ' '))
  if (due) marks.push(due)
  if (until) marks.push(`until ${formatDate(until, timeZone)}`)
  // A passage's title is the heading that it stands under.
  if (title && kind !== 'chunk') marks.push(`title: ${title}`)
  if (tags.length > 0) marks.push(`tags: ${tags.join(', ')}`)
  return marks.length > 0 ? `(${marks.join('; ')}) ` : ''
}
