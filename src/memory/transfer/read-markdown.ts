import { idFromText, unescapeLine, unescapeValue } from './markdown-escape.ts'
import { sections } from './markdown-text.ts'
import { type MarkdownItem, memoryFromItem } from './memory-from-item.ts'
import type { FoundRecord, NumberedLine } from './numbered-line.ts'

type Holds = (typeof sections)[number]['holds']

/**
 * The items of a document that was exported, also after a person has edited it: what it does not understand is told with
 * its line and does not stop the rest.
 */
export async function* readMarkdown(lines: AsyncIterable<NumberedLine>): AsyncGenerator<FoundRecord> {
  let holds: Holds | undefined
  let item: MarkdownItem | undefined
  for await (const { line, text } of lines) {
    if (item && continueItem(item, text)) continue
    if (item) yield recordOf(item, holds)
    item = undefined
    if (text.startsWith('- ')) item = { line, first: text.slice(2), others: [], details: [] }
    else if (text.startsWith('## ')) holds = sectionOf(text)
    else if (text.trim() !== '' && !/^(?:#|<!--)/.test(text)) yield { line, problem: 'belongs to no item' }
  }
  if (item) yield recordOf(item, holds)
}

function sectionOf(text: string): Holds | undefined {
  return sections.find(({ title }) => text.trimEnd() === `## ${title}`)?.holds
}

/** Lines that are indented by two, and blank ones between them. False where the item has ended. */
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
  if (holds === undefined) return { line, problem: 'stands in no section that is known' }
  const value = writtenOf(item, holds)
  return value === undefined ? { line, problem: 'is not written as the items of its section are' } : { line, value }
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
