import { posix } from 'node:path'
import { Parser } from 'htmlparser2'
import { openZip, type ZipLimits } from '../../base/zip.ts'
import type { PageText } from './html-to-markdown.ts'

const limits: ZipLimits = { entries: 20_000, entryBytes: 64_000_000, bytes: 160_000_000 }
const maxColumns = 256
const maxFormula = 500

interface Element {
  name: string
  local: string
  attributes: Readonly<Record<string, string>>
}

/** The text of a Word, Excel, PowerPoint or OpenDocument file as Markdown. Only for a separate process. */
export function officeToText(bytes: Uint8Array, maxCharacters: number): PageText {
  const zip = openDocument(bytes)
  const title = titleOf(zip)
  if (zip.has('word/document.xml')) return { title, text: wordText(zip) }
  if (zip.has('xl/workbook.xml')) return { title, ...sheetsText(zip, maxCharacters) }
  if (zip.has('ppt/presentation.xml')) return { title, ...slidesText(zip, maxCharacters) }
  if (zip.has('content.xml')) return { title, text: openDocumentText(zip) }
  throw new Error('it is an archive, not a document')
}

type Document = ReturnType<typeof openDocument>

function openDocument(bytes: Uint8Array) {
  const zip = openZip(bytes, limits)
  return {
    has: zip.has,
    /** Empty if there is no such entry. */
    text(name: string): string {
      const content = zip.read(name)
      if (!content) return ''
      return new TextDecoder(content[0] === 0xff || content[0] === 0xfe ? 'utf-16' : 'utf-8').decode(content)
    },
  }
}

/** Walks through XML. Only predefined entities are expanded. `local` is a name without its prefix. */
function walk(
  xml: string,
  on: { open?(element: Element): void; text?(text: string): void; close?(name: string, local: string): void },
): void {
  const localName = (name: string) => name.slice(name.indexOf(':') + 1)
  const parser = new Parser(
    {
      onopentag: (name, attributes) => on.open?.({ name, local: localName(name), attributes }),
      ontext: (text) => on.text?.(text),
      onclosetag: (name) => on.close?.(name, localName(name)),
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(xml)
}

/** Paragraphs and tables in order, as Markdown. A table inside a cell becomes text of that cell. */
function createWriter(names: { table: string; row: string; cells: readonly string[] }) {
  const blocks: string[] = []
  const cells: string[][] = []
  let rows: string[] = []
  let row: string[] | undefined
  let depth = 0
  let paragraph = ''

  function endCell(repeat: number): void {
    const text = (cells.pop() ?? []).join(' ').replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')
    const times = text === '' ? Math.min(repeat, maxColumns) : Math.min(repeat, 16)
    for (let time = 0; time < times && row && row.length < maxColumns; time += 1) row.push(text)
  }

  function endRow(): void {
    const line = row && rowLine(row)
    if (line !== undefined) rows.push(line)
    row = undefined
  }

  return {
    add(text: string) {
      paragraph += text
    },
    endParagraph(prefix = '') {
      const text = paragraph.trim()
      paragraph = ''
      if (text === '') return
      const cell = cells.at(-1)
      if (cell) cell.push(text)
      else blocks.push(`${prefix}${text}`)
    },
    open(name: string) {
      if (name === names.table) {
        depth += 1
        if (depth === 1) rows = []
      }
      if (depth !== 1) return
      if (name === names.row) row = []
      else if (names.cells.includes(name)) cells.push([])
    },
    close(name: string, repeat = 1) {
      if (depth === 1 && names.cells.includes(name)) endCell(repeat)
      else if (depth === 1 && name === names.row) endRow()
      if (name !== names.table) return
      depth -= 1
      if (depth > 0 || rows.length === 0) return
      blocks.push(asTable(rows))
      rows = []
    },
    heading(text: string) {
      blocks.push(text)
    },
    text: () => blocks.join('\n\n'),
  }
}

function rowLine(row: readonly string[]): string | undefined {
  const last = row.findLastIndex((cell) => cell !== '')
  return last < 0 ? undefined : `| ${row.slice(0, last + 1).join(' | ')} |`
}

function asTable([head = '', ...rest]: readonly string[]): string {
  const columns = head.split(/(?<!\\)\|/).length - 2
  return [head, `|${' --- |'.repeat(Math.max(1, columns))}`, ...rest].join('\n')
}

function wordText(zip: Document): string {
  const parts = [blocksText('w:', zip.text('word/document.xml'))]
  for (const heading of ['Footnotes', 'Endnotes', 'Comments']) {
    const text = blocksText('w:', zip.text(`word/${heading.toLowerCase()}.xml`))
    if (text !== '') parts.push(`## ${heading}`, text)
  }
  return parts.join('\n\n')
}

const headingStyle = /^(?:heading|berschrift|überschrift|titre|ttulo|título|titolo|kop|rubrik|overskrift)\s*([1-6])$/i

/** The text of Word (`w:`) or of a slide (`a:`). */
function blocksText(space: 'w:' | 'a:', xml: string): string {
  const writer = createWriter({ table: `${space}tbl`, row: `${space}tr`, cells: [`${space}tc`] })
  let prefix = ''
  let isText = false
  let skipped = 0
  walk(xml, {
    open({ name, local, attributes }) {
      // The same text again, for older programs.
      if (name === 'mc:Fallback') skipped += 1
      if (!name.startsWith(space)) return
      if (local === 'p') prefix = ''
      else if (local === 'pStyle') prefix = stylePrefix(attributes['w:val'] ?? '') || prefix
      else if (local === 'numPr') prefix ||= '- '
      else if (local === 't') isText = skipped === 0
      else if (local === 'tab') writer.add('\t')
      else if (local === 'noBreakHyphen') writer.add('-')
      else if (local === 'br' || local === 'cr') writer.add('\n')
      else writer.open(name)
    },
    text(text) {
      if (isText) writer.add(text)
    },
    close(name, local) {
      if (name === 'mc:Fallback') skipped -= 1
      if (!name.startsWith(space)) return
      if (local === 't') isText = false
      else if (local === 'p') writer.endParagraph(prefix)
      else writer.close(name)
    },
  })
  return writer.text()
}

function stylePrefix(style: string): string {
  if (/^(?:title|titel)$/i.test(style)) return '# '
  const level = headingStyle.exec(style)?.[1]
  return level ? `${'#'.repeat(Number(level))} ` : ''
}

function sheetsText(zip: Document, maxCharacters: number): Pick<PageText, 'text' | 'pages'> {
  const sheets: { name: string; target: string }[] = []
  const targets = targetsOf(zip, 'xl/workbook.xml')
  let is1904 = false
  walk(zip.text('xl/workbook.xml'), {
    open({ local, attributes }) {
      if (local === 'workbookPr') is1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '')
      if (local !== 'sheet') return
      const target = targets.get(attributes['r:id'] ?? '')
      if (target) sheets.push({ name: attributes.name ?? '', target })
    },
  })
  const strings = sharedStrings(zip.text('xl/sharedStrings.xml'))
  const dates = dateStyles(zip.text('xl/styles.xml'))
  return joinPages(
    sheets.map(({ name, target }) => () => {
      const rows = sheetRows(zip.text(target), { strings, dates, is1904, maxCharacters })
      return `## Sheet: ${name}\n\n${rows.length === 0 ? '(empty)' : asTable(rows)}`
    }),
    maxCharacters,
  )
}

function sharedStrings(xml: string): string[] {
  const strings: string[] = []
  let current = ''
  let isText = false
  let isHint = false
  walk(xml, {
    open({ local }) {
      if (local === 'si') current = ''
      else if (local === 'rPh') isHint = true
      else if (local === 't') isText = !isHint
    },
    text(text) {
      if (isText) current += text
    },
    close(_name, local) {
      if (local === 't') isText = false
      else if (local === 'rPh') isHint = false
      else if (local === 'si') strings.push(current)
    },
  })
  return strings
}

/** The cell formats that show a number as a date. */
function dateStyles(xml: string): Set<number> {
  const formats = new Map<string, string>()
  const dates = new Set<number>()
  let isCells = false
  let index = 0
  walk(xml, {
    open({ local, attributes }) {
      if (local === 'numFmt') formats.set(attributes.numFmtId ?? '', attributes.formatCode ?? '')
      else if (local === 'cellXfs') isCells = true
      else if (local === 'xf' && isCells) {
        const id = Number(attributes.numFmtId)
        const code = (formats.get(attributes.numFmtId ?? '') ?? '').replaceAll(/"[^"]*"|\\.|\[[^\]]*\]/g, '')
        if ((id >= 14 && id <= 22) || (id >= 45 && id <= 47) || /[dyhs]/i.test(code)) dates.add(index)
        index += 1
      }
    },
    close(_name, local) {
      if (local === 'cellXfs') isCells = false
    },
  })
  return dates
}

function sheetRows(
  xml: string,
  book: { strings: readonly string[]; dates: ReadonlySet<number>; is1904: boolean; maxCharacters: number },
): string[] {
  const rows: string[] = []
  let row: string[] = []
  let size = 0
  let cell: { column: number; type: string; style: number } | undefined
  let value = ''
  let formula = ''
  let part: 'v' | 'f' | undefined
  walk(xml, {
    open({ local, attributes }) {
      if (local === 'row') row = []
      else if (local === 'c') {
        const column = columnOf(attributes.r ?? '') ?? row.length
        cell = { column, type: attributes.t ?? 'n', style: Number(attributes.s ?? -1) }
        value = ''
        formula = ''
      } else if (local === 'v' || (local === 't' && cell?.type === 'inlineStr')) part = 'v'
      else if (local === 'f') part = 'f'
    },
    text(text) {
      if (part === 'v') value += text
      else if (part === 'f' && formula.length < maxFormula) formula += text
    },
    close(_name, local) {
      if (local === 'v' || local === 't' || local === 'f') part = undefined
      else if (local === 'c' && cell) {
        const { column } = cell
        // A program that computes nothing stores the formula alone.
        const shown = value === '' && formula !== '' ? `=${formula}` : cellText(value, cell, book)
        if (column < maxColumns && shown !== '') {
          while (row.length < column) row.push('')
          row[column] = shown.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')
        }
        cell = undefined
      } else if (local === 'row' && size < book.maxCharacters) {
        const line = rowLine(row)
        if (line === undefined) return
        rows.push(line)
        size += line.length
      }
    },
  })
  return rows
}

function cellText(
  value: string,
  { type, style }: { type: string; style: number },
  { strings, dates, is1904 }: Parameters<typeof sheetRows>[1],
): string {
  if (type === 's') return strings[Number(value)] ?? ''
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  if (type !== 'n' || !dates.has(style)) return value
  const days = Number(value) + (is1904 ? 1_462 : 0)
  if (!Number.isFinite(days) || days < 0 || days > 2_958_466) return value
  const time = new Date(Math.round((days - 25_569) * 86_400) * 1_000).toISOString()
  if (days < 1) return time.slice(11, 19)
  return time.endsWith('T00:00:00.000Z') ? time.slice(0, 10) : `${time.slice(0, 10)} ${time.slice(11, 19)}`
}

/** `B7` is the second column: 1. */
function columnOf(reference: string): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0]
  if (!letters) return undefined
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1
}

function slidesText(zip: Document, maxCharacters: number): Pick<PageText, 'text' | 'pages'> {
  const targets = targetsOf(zip, 'ppt/presentation.xml')
  const slides: string[] = []
  walk(zip.text('ppt/presentation.xml'), {
    open({ name, attributes }) {
      const target = name === 'p:sldId' ? targets.get(attributes['r:id'] ?? '') : undefined
      if (target) slides.push(target)
    },
  })
  return joinPages(
    slides.map((target, index) => () => {
      const notes = [...targetsOf(zip, target).values()].find((name) => name.includes('notesSlide'))
      const spoken = notes ? blocksText('a:', zip.text(notes)) : ''
      const text = `## Slide ${index + 1} of ${slides.length}\n\n${blocksText('a:', zip.text(target))}`
      return spoken === '' ? text : `${text}\n\nNotes: ${spoken}`
    }),
    maxCharacters,
  )
}

function openDocumentText(zip: Document): string {
  if (/encryption-data/.test(zip.text('META-INF/manifest.xml'))) throw new Error('it is encrypted')
  const cells = ['table:table-cell', 'table:covered-table-cell']
  const writer = createWriter({ table: 'table:table', row: 'table:table-row', cells })
  let prefix = ''
  let lists = 0
  let paragraphs = 0
  let slide = 0
  let repeat = 1
  // Notes and comments interrupt a sentence; their text follows at the end.
  const asides: Record<string, string[]> = { 'text:note': [], 'office:annotation': [] }
  let aside: { name: string; text: string; isIn: boolean } | undefined
  walk(zip.text('content.xml'), {
    open({ name, attributes }) {
      if (!aside && name in asides) aside = { name, text: '', isIn: false }
      else if (aside && name === 'text:p') aside.text += ' '
      if (aside) {
        aside.isIn ||= name === 'text:p'
        return
      }
      if (name === 'text:h') {
        prefix = `${'#'.repeat(Math.min(6, Number(attributes['text:outline-level']) || 1))} `
        paragraphs += 1
      } else if (name === 'text:p') {
        prefix = lists > 0 ? '- ' : ''
        paragraphs += 1
      } else if (name === 'text:list') lists += 1
      else if (name === 'text:tab') writer.add('\t')
      else if (name === 'text:line-break') writer.add('\n')
      else if (name === 'text:s') writer.add(' '.repeat(Math.min(100, Number(attributes['text:c'] ?? 1) || 1)))
      else if (name === 'draw:page') {
        slide += 1
        writer.heading(`## Slide ${slide}`)
      } else {
        if (name === 'table:table' && zip.text('mimetype').includes('spreadsheet')) {
          writer.heading(`## Sheet: ${attributes['table:name'] ?? ''}`)
        }
        if (cells.includes(name)) repeat = Number(attributes['table:number-columns-repeated'] ?? 1) || 1
        writer.open(name)
      }
    },
    text(text) {
      if (aside?.isIn) aside.text += text
      else if (!aside && paragraphs > 0) writer.add(text.replaceAll(/\s+/g, ' '))
    },
    close(name) {
      if (aside) {
        if (name === 'text:p') aside.isIn = false
        if (name !== aside.name) return
        asides[name]?.push(aside.text.replaceAll(/\s+/g, ' ').trim())
        aside = undefined
      } else if (name === 'text:h' || name === 'text:p') {
        paragraphs -= 1
        writer.endParagraph(prefix)
      } else if (name === 'text:list') lists -= 1
      else writer.close(name, repeat)
    },
  })
  const titles = { 'text:note': 'Footnotes', 'office:annotation': 'Comments' }
  for (const [name, title] of Object.entries(titles)) {
    const notes = (asides[name] ?? []).filter((note) => note !== '')
    if (notes.length > 0) writer.heading(`## ${title}`)
    for (const note of notes) {
      writer.add(note)
      writer.endParagraph()
    }
  }
  return writer.text()
}

function joinPages(pages: readonly (() => string)[], maxCharacters: number): Pick<PageText, 'text' | 'pages'> {
  const read: string[] = []
  let size = 0
  for (const page of pages) {
    if (size >= maxCharacters) break
    const text = page()
    read.push(text)
    size += text.length
  }
  return { text: read.join('\n\n'), pages: { read: read.length, total: pages.length } }
}

function targetsOf(zip: Document, part: string): Map<string, string> {
  const folder = posix.dirname(part)
  const targets = new Map<string, string>()
  walk(zip.text(`${folder}/_rels/${posix.basename(part)}.rels`), {
    open({ local, attributes }) {
      const { Id: id, Target: target, TargetMode: mode } = attributes
      if (local !== 'Relationship' || !id || !target || mode === 'External') return
      targets.set(id, target.startsWith('/') ? target.slice(1) : posix.normalize(`${folder}/${target}`))
    },
  })
  return targets
}

function titleOf(zip: Document): string {
  let title = ''
  let isTitle = false
  walk(zip.text(zip.has('meta.xml') ? 'meta.xml' : 'docProps/core.xml'), {
    open: ({ name }) => {
      isTitle = name === 'dc:title'
    },
    text: (text) => {
      if (isTitle) title += text
    },
    close: () => {
      isTitle = false
    },
  })
  return title
}
