import { usualLabel, usualPriority } from '../memories.ts'
import type { MemoryKind } from '../memory.ts'
import type { FoundRecord, NumberedLine } from './plain-notes.ts'
import {
  dayText,
  shortTimeText,
  type TransferHeader,
  timeFromText,
  type WrittenMemory,
  type WrittenRecord,
} from './record.ts'

type Holds = (typeof sections)[number]['holds']

/**
 * The items of an exported document, also after manual edits: unreadable lines are reported with their number and do
 * not stop the rest.
 */
export async function* readMarkdownRecords(lines: AsyncIterable<NumberedLine>): AsyncGenerator<FoundRecord> {
  let holds: Holds | undefined
  let item: MarkdownItem | undefined
  for await (const { line, text } of lines) {
    if (item && continueItem(item, text)) continue
    if (item) yield recordOf(item, holds)
    item = undefined
    if (text.startsWith('- ')) item = { line, first: text.slice(2), others: [], details: [] }
    else if (text.startsWith('## ')) holds = sectionOf(text)
    else if (text.trim() !== '' && !/^(?:#|<!--)/.test(text)) yield { line, problem: 'does not belong to an item' }
  }
  if (item) yield recordOf(item, holds)
}

function sectionOf(text: string): Holds | undefined {
  return sections.find(({ title }) => text.trimEnd() === `## ${title}`)?.holds
}

/** Lines indented by two, and blank ones between them. False if the item has ended. */
function continueItem(item: MarkdownItem, text: string): boolean {
  if (text.trim() === '') {
    item.others.push(text.slice(2))
    return true
  }
  if (!text.startsWith('  ')) return false
  const detail = /^ {2}- ([a-z]{1,20}(?: [a-z]{1,20})?):(?: (.*))?$/s.exec(text)
  if (detail) item.details.push({ key: detail[1] ?? '', value: unescapeValue(detail[2] ?? '') })
  else item.others.push(unescapeLine(text.slice(2)))
  return true
}

function recordOf(item: MarkdownItem, holds: Holds | undefined): FoundRecord {
  const { line } = item
  if (holds === undefined) return { line, problem: 'is not in a known section' }
  const value = writtenOf(item, holds)
  return value === undefined ? { line, problem: 'does not have the format of its section' } : { line, value }
}

function writtenOf(item: MarkdownItem, holds: Holds): unknown {
  switch (holds) {
    case 'alias':
      return aliasOf(item.first)
    case 'attribute':
      return attributeOf(item.first)
    case 'folder':
      return { type: 'folder', path: unescapeValue(item.first) }
    case 'edge':
      return edgeOf(item.first)
    default:
      return memoryFromItem(item, holds)
  }
}

function aliasOf(text: string): unknown {
  const cut = text.indexOf(' = ')
  if (cut < 0) return undefined
  return { type: 'alias', alias: unescapeLine(text.slice(0, cut)), entity: unescapeLine(text.slice(cut + 3)) }
}

function attributeOf(text: string): unknown {
  const cut = text.lastIndexOf(': ')
  const count = text.slice(cut + 2)
  if (cut < 0 || (count !== 'several' && count !== 'one')) return undefined
  return { type: 'attribute', attribute: unescapeValue(text.slice(0, cut)), is_multi_valued: count === 'several' }
}

/** `^source relation ^target weight day` */
function edgeOf(text: string): unknown {
  const source = text.indexOf(' ')
  const target = text.lastIndexOf(' ^')
  if (!text.startsWith('^') || source < 0 || target <= source) return undefined
  const [target_id = '', weight, created_at] = text.slice(target + 2).split(' ')
  return {
    type: 'edge',
    source_id: idFromText(text.slice(1, source)),
    target_id: idFromText(target_id),
    relation: unescapeLine(text.slice(source + 1, target)),
    weight: Number(weight),
    created_at,
  }
}

const escaped = /\\([!-/:-@[-`{-~])|&#13;/g

/**
 * Escapes one line of a memory's content so that Markdown shows it unchanged and nothing in it acts as structure: a
 * tag, the id at the end of an item, a list, a heading or HTML. `unescapeLine` restores it exactly.
 */
export function escapeLine(line: string): string {
  return line
    .replaceAll(/\\(?=[!-/:-@[-`{-~\r])/g, '\\\\')
    .replaceAll(/&(?=#13;)/g, '\\&')
    .replaceAll('\r', '&#13;')
    .replaceAll(/(?<=^|\s)[#^]/g, '\\$&')
    .replaceAll(/<(?=[A-Za-z!/?])/g, '\\<')
}

/** The same for text at the start of a line, after its indentation. */
export function escapeLineStart(line: string): string {
  const text = escapeLine(line)
  const start = text.length - text.trimStart().length
  const rest = text.slice(start)
  const number = /^\d{1,9}(?=[.)])/.exec(rest)?.[0].length ?? 0
  const isMarked = number > 0 || /^[-*+>=~|`_]/.test(rest)
  return isMarked ? `${text.slice(0, start + number)}\\${rest.slice(number)}` : text
}

export function unescapeLine(line: string): string {
  return line.replaceAll(escaped, (_match, sign: string | undefined) => sign ?? '\r')
}

export function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
}

export function unescapeValue(text: string): string {
  return text.replaceAll(/\\([\\nr])/g, (_match, sign: string) => (sign === 'n' ? '\n' : sign === 'r' ? '\r' : '\\'))
}

/** `#tag`, or `#[a tag with spaces]`. */
function tagText(tag: string): string {
  return /^[\p{L}\p{N}][\p{L}\p{N}_./-]*$/u.test(tag) ? `#${tag}` : `#[${tag.replaceAll(/[\\\]]/g, '\\$&')}]`
}

/** `^id`. White space would end it. */
export function idText(id: string): string {
  return `^${id.replaceAll(/[\s%]/g, encodeURIComponent)}`
}

export function idFromText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The sections of a document, most useful first, and their contents. */
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

/** In a comment, which is invisible in the rendered document. */
export function headerText(header: TransferHeader): string {
  return `<!-- ${JSON.stringify(header).replaceAll('>', '\\u003e')} -->`
}

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
 *       - title: The title
 */
function memoryText(memory: WrittenMemory): string[] {
  const [first = '', ...others] = memory.content.split('\n')
  const ending = [...(memory.tags ?? []).map(tagText), idText(memory.id)].join(' ')
  return [
    `- ${day(memory.created_at)} ${escapeLine(first)} ${ending}`,
    ...others.map((line) => (line === '' ? '' : `  ${escapeLineStart(line)}`)),
    ...detailsOf(memory),
  ]
}

// The keys of the details below an item, in order.
const nameDetails = ['title', 'category']
const otherDetails = `speaker,thread,position,passages,tier,priority,source,label,happened from,happened until,replaced,
  replaced by`.split(/,\s*/)
const kindDetails = {
  fact: ['entity', 'attribute', 'value', 'confidence', 'since', 'until'],
  episode: ['topic', 'decision', 'tone', 'began', 'ended'],
  commitment: ['who', 'to', 'what', 'by', 'state', 'closed'],
}
/** Those that every memory of the kind has. */
const kindMarks = { fact: 'entity', episode: 'began', commitment: 'who' }
/** The fields of the record, unless they have the same name. */
const fields: Record<string, string> = {
  thread: 'thread_id',
  'happened from': 'happened_from',
  'happened until': 'happened_until',
  replaced: 'superseded_at',
  'replaced by': 'superseded_by',
  since: 'valid_from',
  until: 'valid_to',
  topic: 'topics',
  decision: 'decisions',
  began: 'started_at',
  ended: 'ended_at',
  to: 'to_whom',
  by: 'deadline',
  closed: 'closed_at',
}
const times = new Set(['happened from', 'happened until', 'replaced', 'until', 'began', 'ended', 'by', 'closed'])
const numbers = new Set(['position', 'passages', 'priority', 'confidence'])
const lists = new Set(['topic', 'decision'])

function detailLines(keys: readonly string[], record: Record<string, unknown> = {}): string[] {
  return keys.flatMap((key) =>
    [record[fields[key] ?? key] ?? []].flat().map((value) => {
      const text = times.has(key) ? shortTimeText(timeFromText(String(value)) ?? 0) : String(value)
      return `  - ${key}: ${escapeValue(text)}`
    }),
  )
}

function readDetails(keys: readonly string[], item: MarkdownItem): Record<string, unknown> {
  const read = keys.map((key) => {
    const values = item.details.filter((detail) => detail.key === key).map((detail) => detail.value)
    const last = values.at(-1)
    const field = fields[key] ?? key
    if (lists.has(key)) return [field, values]
    if (numbers.has(key)) return [field, last?.trim() ? Number(last) : undefined]
    return [field, last]
  })
  return Object.fromEntries(read)
}

/** Without what is implied. */
function detailsOf(memory: WrittenMemory): string[] {
  const { created_at, tier = 'long_term', source = 'user', priority = usualPriority[tier], label, fact } = memory
  const since = fact && day(fact.valid_from)
  const shown = {
    ...memory,
    tier: tier === 'long_term' ? undefined : tier,
    priority: priority === usualPriority[tier] ? undefined : priority,
    source: source === 'user' ? undefined : source,
    label: label === usualLabel(source) ? undefined : label,
  }
  const shownFact = fact && {
    ...fact,
    confidence: fact.confidence === 1 ? undefined : fact.confidence,
    // Usually it was said on the day that it became true.
    valid_from: since === day(created_at) ? undefined : since,
  }
  return [
    ...detailLines(nameDetails, shown),
    ...detailLines(kindDetails.fact, shownFact),
    ...detailLines(kindDetails.episode, memory.episode),
    ...detailLines(kindDetails.commitment, memory.commitment),
    ...detailLines(otherDetails, shown),
  ]
}

function nameText(name: string): string {
  return escapeLine(name).replaceAll(/(?<=^|\s)=/g, '\\=')
}

function day(time: string): string {
  return dayText(timeFromText(time) ?? 0)
}

interface MarkdownItem {
  line: number
  /** After the dash, still escaped. */
  first: string
  others: string[]
  details: { key: string; value: string }[]
}

/** The written form of a memory, not yet validated. Undefined if the item has no date or no id. */
function memoryFromItem(item: MarkdownItem, kind: MemoryKind): unknown {
  const date = /^([+-]?\d{4,6}-\d\d-\d\d) /.exec(item.first)?.[1]
  if (date === undefined) return undefined
  const text = item.first.slice(date.length + 1)
  const ending = text.search(/ [#^]/)
  const marks = ending < 0 ? undefined : marksOf(text.slice(ending))
  if (!marks) return undefined
  const ofKind = (name: keyof typeof kindDetails) =>
    item.details.some(({ key }) => key === kindMarks[name]) ? readDetails(kindDetails[name], item) : undefined
  const fact = ofKind('fact')
  return {
    type: 'memory',
    id: marks.id,
    kind,
    content: [unescapeLine(text.slice(0, ending)), ...item.others].join('\n'),
    tags: marks.tags,
    created_at: date,
    ...readDetails([...nameDetails, ...otherDetails], item),
    episode: ofKind('episode'),
    commitment: ofKind('commitment'),
    fact: fact && { ...fact, confidence: fact.confidence ?? 1, valid_from: fact.valid_from ?? date },
  }
}

/** ` #tag #[another tag] ^id`, up to the end. */
function marksOf(text: string): { id: string; tags: string[] } | undefined {
  const tags: string[] = []
  const tag = / #(?:\[((?:\\.|[^\\\]])*)\]|([^\s[\]#^]+))/suy
  let end = 0
  for (let found = tag.exec(text); found; found = tag.exec(text)) {
    tags.push(found[2] ?? (found[1] ?? '').replaceAll(/\\(.)/gs, '$1'))
    end = tag.lastIndex
  }
  const id = /^ \^(\S+)\s*$/.exec(text.slice(end))?.[1]
  return id === undefined ? undefined : { id: idFromText(id), tags }
}
