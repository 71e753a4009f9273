import { toDisplayText } from '../../../base/text.ts'
import { formatTable, isTableStart } from './format-table.ts'
import { type FormattedText, joinFormatted, plain, wrapFormatted } from './formatted-text.ts'
import { parseInline } from './parse-inline.ts'

const fence = /^\s*(`{3,}(?=[^`]*$)|~{3,})(.*)$/
const heading = /^ {0,3}#{1,6}[ \t]+(.*)$/
const quoted = /^ {0,3}(?:> ?)+/
const listItem = /^([ \t]*)(?:[-*+•]|(\d{1,9}[.)]))[ \t]+(.*)$/
const rule = /^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$/
const deepest = 6

/**
 * What a model writes, as text with entities (SEC-7, SEC-10): nothing in it can be taken for a command to Telegram, nothing
 * invisible is left, and every link shows where it leads.
 */
export function formatMarkdown(source: string): FormattedText {
  return formatLines(toDisplayText(source.toWellFormed()).split('\n'))
}

function formatLines(lines: readonly string[]): FormattedText {
  const parts: FormattedText[] = []
  let at = 0
  let isApart = false

  while (at < lines.length) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      isApart = true
      at += 1
      continue
    }
    const block = readBlock(lines, at)
    if (parts.length > 0) parts.push(plain(isApart ? '\n\n' : '\n'))
    parts.push(block.formatted)
    isApart = false
    at = block.end
  }
  return joinFormatted(parts)
}

interface Block {
  formatted: FormattedText
  /** The line after it. */
  end: number
}

function readBlock(lines: readonly string[], at: number): Block {
  const line = lines[at] ?? ''
  const opening = fence.exec(line)
  if (opening)
    return readFenced(lines, at, { mark: opening[1] ?? '', language: opening[2]?.trim().split(/\s/)[0] ?? '' })
  if (quoted.test(line)) return readQuote(lines, at)
  if (isTableStart(line, lines[at + 1])) return readTable(lines, at)
  if (rule.test(line)) return { formatted: plain('———'), end: at + 1 }
  const title = heading.exec(line)?.[1]
  if (title !== undefined) return { formatted: formatHeading(title), end: at + 1 }
  return readParagraph(lines, at)
}

/** To its end or that of the text: a reply may have been cut off. */
function readFenced(
  lines: readonly string[],
  at: number,
  { mark, language }: { mark: string; language: string },
): Block {
  const indent = /^\s*/.exec(lines[at] ?? '')?.[0].length ?? 0
  const closing = new RegExp(`^\\s*${mark[0]}{${mark.length},}\\s*$`)
  let end = at + 1
  while (end < lines.length && !closing.test(lines[end] ?? '')) end += 1
  const code = lines
    .slice(at + 1, end)
    .map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)))
  const known = /^[\w+#.-]{1,30}$/.test(language) ? { language } : {}
  return { formatted: wrapFormatted(plain(code.join('\n')), { type: 'pre', ...known }), end: end + 1 }
}

/** One in another is shown as one: Telegram knows no other. */
function readQuote(lines: readonly string[], at: number): Block {
  let end = at
  while (end < lines.length && quoted.test(lines[end] ?? '')) end += 1
  const inner = lines.slice(at, end).map((line) => line.replace(quoted, ''))
  return { formatted: wrapFormatted(formatLines(inner), { type: 'blockquote' }), end }
}

function readTable(lines: readonly string[], at: number): Block {
  let end = at + 2
  while (end < lines.length && (lines[end] ?? '').includes('|')) end += 1
  const rows = [lines[at] ?? '', ...lines.slice(at + 2, end)]
  return { formatted: wrapFormatted(plain(formatTable(rows)), { type: 'pre' }), end }
}

function formatHeading(title: string): FormattedText {
  const inner = parseInline(title.trim())
  const codes = inner.entities.filter(({ type }) => type === 'code')
  // Bold must not contain code, and one that has code in it is heading enough without.
  if (codes.length > 0) return inner
  return wrapFormatted({ ...inner, entities: inner.entities.filter(({ type }) => type !== 'bold') }, { type: 'bold' })
}

/** Lines up to what is something else. An item of a list is a paragraph with a mark before it. */
function readParagraph(lines: readonly string[], at: number): Block {
  const item = listItem.exec(lines[at] ?? '')
  const taken = [item ? (item[3] ?? '') : (lines[at] ?? '').trimEnd()]
  let end = at + 1
  while (end < lines.length && !beginsAnew(lines, end)) {
    taken.push(item ? (lines[end] ?? '').trim() : (lines[end] ?? '').trimEnd())
    end += 1
  }
  const inner = parseInline(taken.join('\n'))
  return { formatted: item ? joinFormatted([plain(markOf(item)), withTask(inner)]) : inner, end }
}

function beginsAnew(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  if (line.trim() === '' || fence.test(line) || quoted.test(line) || listItem.test(line)) return true
  return heading.test(line) || rule.test(line) || isTableStart(line, lines[at + 1])
}

function markOf([, indent = '', number]: RegExpExecArray): string {
  const depth = Math.min(deepest, Math.floor(indent.replaceAll('\t', '    ').length / 2))
  return `${'  '.repeat(depth)}${number ?? '•'} `
}

/** `[x] done` has a box that is ticked. */
function withTask(item: FormattedText): FormattedText {
  const box = /^\[([ xX])\] /.exec(item.text)
  if (!box || item.entities.some(({ offset }) => offset < 4)) return item
  const rest = {
    text: item.text.slice(4),
    entities: item.entities.map((entity) => ({ ...entity, offset: entity.offset - 4 })),
  }
  return joinFormatted([plain(box[1] === ' ' ? '☐ ' : '☑ '), rest])
}
