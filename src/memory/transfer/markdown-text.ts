import { usualPriority } from '../memories.ts'
import type { MemoryKind } from '../memory.ts'
import { escapeLine, escapeLineStart, escapeValue, idText, tagText } from './markdown-escape.ts'
import type { TransferHeader, WrittenMemory, WrittenRecord } from './record.ts'
import { dayText, shortTimeText, timeFromText } from './time-text.ts'

/** The sections of a document in the order in which they are read with most use, and what each holds. */
export const sections: readonly { title: string; holds: MemoryKind | 'alias' | 'attribute' | 'edge' | 'folder' }[] = [
  { title: 'Notes', holds: 'note' },
  { title: 'Names', holds: 'alias' },
  { title: 'Attributes', holds: 'attribute' },
  { title: 'Facts', holds: 'fact' },
  { title: 'Commitments', holds: 'commitment' },
  { title: 'Episodes', holds: 'episode' },
  { title: 'Conversations', holds: 'chunk' },
  { title: 'Links', holds: 'edge' },
  { title: 'Folders', holds: 'folder' },
]

/** In a comment, which nobody sees who reads the document as it is meant to be shown. */
export function headerText(header: TransferHeader): string {
  return `<!-- ${JSON.stringify(header).replaceAll('>', '\\u003e')} -->`
}

/** One list item: a line or several. */
export function itemText(record: WrittenRecord): string[] {
  switch (record.type) {
    case 'memory':
      return memoryText(record)
    case 'alias':
      return [`- ${nameText(record.alias)} = ${nameText(record.entity)}`]
    case 'attribute':
      return [`- ${escapeValue(record.attribute)}: ${record.is_multi_valued ? 'several' : 'one'}`]
    case 'folder':
      return [`- ${escapeValue(record.path)}`]
    case 'edge': {
      const { source_id, target_id, relation, weight, created_at } = record
      return [`- ${idText(source_id)} ${escapeLine(relation)} ${idText(target_id)} ${weight} ${day(created_at)}`]
    }
  }
}

/**
 *     - 2026-11-15 The first line of it #tag ^id
 *       and its other lines
 *       - title: What is said about it
 */
function memoryText(memory: WrittenMemory): string[] {
  const [first = '', ...others] = memory.content.split('\n')
  const ending = [...(memory.tags ?? []).map(tagText), idText(memory.id)].join(' ')
  return [
    `- ${day(memory.created_at)} ${escapeLine(first)} ${ending}`,
    ...others.map((line) => (line === '' ? '' : `  ${escapeLineStart(line)}`)),
    ...detailsOf(memory).flatMap(([key, value]) => (value === undefined ? [] : [`  - ${key}: ${escapeValue(value)}`])),
  ]
}

type DetailLine = [key: string, value: string | undefined]

function detailsOf(memory: WrittenMemory): DetailLine[] {
  const { tier = 'long_term', source = 'user', priority = usualPriority[tier], position } = memory
  return [
    ['title', memory.title],
    ['category', memory.category],
    ...kindDetails(memory),
    ['speaker', memory.speaker],
    ['thread', memory.thread_id],
    ['position', position === undefined ? undefined : String(position)],
    ['passages', memory.passages === undefined ? undefined : String(memory.passages)],
    ['tier', tier === 'long_term' ? undefined : tier],
    ['priority', priority === usualPriority[tier] ? undefined : String(priority)],
    ['source', source === 'user' ? undefined : source],
    ['label', memory.label === usualLabel(source) ? undefined : memory.label],
    ['happened from', short(memory.happened_from)],
    ['happened until', short(memory.happened_until)],
    ['replaced', short(memory.superseded_at)],
    ['replaced by', memory.superseded_by],
  ]
}

/** The label that a source has where none is written. */
export function usualLabel(source: string): 'owner' | 'internal' {
  return source === 'user' ? 'owner' : 'internal'
}

function kindDetails({ created_at, fact, episode, commitment }: WrittenMemory): DetailLine[] {
  if (fact) {
    return [
      ['entity', fact.entity],
      ['attribute', fact.attribute],
      ['value', fact.value],
      ['confidence', fact.confidence === 1 ? undefined : String(fact.confidence)],
      // Mostly it was told on the day that it became true.
      ['since', day(fact.valid_from) === day(created_at) ? undefined : day(fact.valid_from)],
      ['until', short(fact.valid_to)],
    ]
  }
  if (episode) {
    return [
      ...(episode.topics ?? []).map((topic): DetailLine => ['topic', topic]),
      ...(episode.decisions ?? []).map((decision): DetailLine => ['decision', decision]),
      ['tone', episode.tone],
      ['began', short(episode.started_at)],
      ['ended', short(episode.ended_at)],
    ]
  }
  if (!commitment) return []
  return [
    ['who', commitment.who],
    ['to', commitment.to_whom],
    ['what', commitment.what],
    ['by', short(commitment.deadline)],
    ['state', commitment.state],
    ['closed', short(commitment.closed_at)],
  ]
}

function nameText(name: string): string {
  return escapeLine(name).replaceAll(/(?<=^|\s)=/g, '\\=')
}

function day(time: string): string {
  return dayText(timeFromText(time) ?? 0)
}

function short(time: string | undefined): string | undefined {
  return time === undefined ? undefined : shortTimeText(timeFromText(time) ?? 0)
}
