import { toDisplayText } from '../../base/text.ts'
import { alignTable } from '../../tools/cards/card-text.ts'
import {
  type FormattedText,
  joinFormatted,
  plain,
  type TelegramPayloadInput,
  type TextEntity,
  wrapFormatted,
} from './sender.ts'

type TextPayload = Extract<TelegramPayloadInput, { kind: 'text' }>

/** A model's text, in pieces. Each is sent separately, so that a crash in between repeats none. */
export function markdownPayloads(markdown: string): TextPayload[] {
  return textPayloads(formatMarkdown(markdown))
}

/** Text that is shown unchanged, with its buttons in one row under the last piece. */
export function plainPayloads(text: string, buttons: readonly { text: string; data: string }[] = []): TextPayload[] {
  const payloads = textPayloads(plain(toDisplayText(text.toWellFormed())))
  const last = payloads.at(-1)
  if (last && buttons.length > 0) last.buttons = [[...buttons]]
  return payloads
}

function textPayloads(formatted: FormattedText): TextPayload[] {
  return splitFormatted(formatted)
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, entities }) => ({ kind: 'text', text, entities }))
}

/** The target of a link to a page or a mailbox; undefined for anything else that an address could trigger. */
function readLink(address: string): URL | undefined {
  if (address.length > 2_000 || !URL.canParse(address)) return undefined
  const url = new URL(address)
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url : undefined
}

/** Appended to the label of a link, so that it cannot imitate another target (SEC-7). */
function shownHost(label: string, url: URL): string {
  const where = url.protocol === 'mailto:' ? url.pathname : url.host
  const named = label.trim().toLowerCase()
  const isSame = named === where || named === url.href || hostOf(named) === where
  return isSame ? '' : ` (${where})`
}

/** Only if the label is just an address: nothing that looks like a host may precede the real one. */
function hostOf(label: string): string | undefined {
  if (!/^https?:\/\/[^\s@\\]+$/.test(label) || !URL.canParse(label)) return undefined
  return new URL(label).host
}

type Style = 'bold' | 'italic' | 'strikethrough'

/** A piece of the source. A mark that opens or closes nothing is plain text. */
interface Piece {
  text: string
  opens?: Style | 'link'
  closes?: Style | 'link'
  url?: URL
  isCode?: true
}

/** A mark that may still be closed: at most one of each kind, and brackets. */
interface Opening {
  mark: string
  piece: Piece
}

const ordinary = /[^\\`*_~[\]!h]+/y
const address = /https?:\/\/[^\s<>"'`*~|()[\]]+/y
// Every repetition is limited; otherwise a row of spaces would backtrack exponentially.
const target =
  /\(\s{0,3}(?:<([^<>\n]{0,2000})>|([^\s()<>]{0,2000}(?:\([^\s()]{0,500}\)[^\s()<>]{0,2000})?))(?:\s{1,3}"[^"\n]{0,500}")?\s{0,3}\)/y
const escapable = /[!-/:-@[-`{-~]/
const wordCharacter = /[\p{L}\p{N}_]/u
const bracket = '['
/** More open marks are never intended; the limit keeps the work linear. */
const maxOpen = 100

/**
 * Parses the Markdown within a paragraph in one pass for any text: a model may repeat untrusted text, which must not
 * block the process.
 */
function parseInline(source: string): FormattedText {
  const pieces: Piece[] = []
  const open: Opening[] = []
  const ticks = findTicks(source)
  let at = 0

  const say = (text: string) => void pieces.push({ text })
  const closeDownTo = (index: number) => void open.splice(index)

  function takeCode(): string {
    const run = matchAt(/`+/y, source, at)?.[0] ?? '`'
    const end = ticks.next(run.length, at + run.length)
    if (end === undefined) {
      say(run)
      return run
    }
    const inner = source.slice(at + run.length, end).replaceAll('\n', ' ')
    const isPadded = /^ .*\S.* $/.test(inner)
    pieces.push({ text: isPadded ? inner.slice(1, -1) : inner, isCode: true })
    return source.slice(at, end + run.length)
  }

  function takeMarks(character: string): string {
    let length = 1
    while (source[at + length] === character) length += 1
    const run = source.slice(at, at + length)
    const { opens, closes } = flanks(source, { at, length, character })
    if (length > 3 || (character === '~' && length !== 2)) {
      say(run)
      return run
    }
    let left = length
    while (closes && left > 0) {
      const index = open.findLastIndex(({ mark }) => mark[0] === character && mark.length <= left)
      const opening = open[index]
      if (!opening) break
      closeDownTo(index)
      const style = styleOf(opening.mark)
      opening.piece.opens = style
      pieces.push({ text: opening.mark, closes: style })
      left -= opening.mark.length
    }
    while (left > 0) {
      const mark = character.repeat(Math.min(2, left))
      const piece: Piece = { text: mark }
      pieces.push(piece)
      if (opens && open.length < maxOpen && !open.some((known) => known.mark === mark)) open.push({ mark, piece })
      left -= mark.length
    }
    return run
  }

  function takeBracket(text: string): string {
    const piece: Piece = { text }
    pieces.push(piece)
    if (open.length < maxOpen) open.push({ mark: bracket, piece })
    return text
  }

  function takeClosing(): string {
    const index = open.findLastIndex(({ mark }) => mark === bracket)
    const opening = open[index]
    const found = opening && matchAt(target, source, at + 1)
    const url = found && readLink((found[1] ?? found[2] ?? '').trim())
    if (!opening || !found || !url) {
      if (opening) open.splice(index, 1)
      say(']')
      return ']'
    }
    closeDownTo(index)
    opening.piece.opens = 'link'
    pieces.push({ text: `]${found[0]}`, closes: 'link', url })
    // Links cannot be nested.
    for (let left = open.length - 1; left >= 0; left -= 1) if (open[left]?.mark === bracket) open.splice(left, 1)
    return `]${found[0]}`
  }

  function take(): string {
    const character = source[at] ?? ''
    const next = source[at + 1] ?? ''
    switch (character) {
      case '\\':
        if (!escapable.test(next)) break
        say(next)
        return character + next
      case '`':
        return takeCode()
      case '*':
      case '_':
      case '~':
        return takeMarks(character)
      case '!':
        if (next === bracket) return takeBracket('![')
        break
      case bracket:
        return takeBracket(bracket)
      case ']':
        return takeClosing()
      case 'h': {
        // Marks within an address are part of it.
        const whole = matchAt(address, source, at)?.[0]
        if (!whole) break
        say(whole)
        return whole
      }
    }
    const text = matchAt(ordinary, source, at)?.[0] ?? character
    say(text)
    return text
  }

  while (at < source.length) at += take().length
  return render(pieces)
}

function styleOf(mark: string): Style {
  if (mark[0] === '~') return 'strikethrough'
  return mark.length === 2 ? 'bold' : 'italic'
}

/** Marks between spaces are plain text; underscores inside a word are part of it. */
function flanks(source: string, { at, length, character }: { at: number; length: number; character: string }) {
  const before = source[at - 1] ?? ' '
  const after = source[at + length] ?? ' '
  const isWord = (text: string) => character === '_' && wordCharacter.test(text)
  return { opens: !/\s/.test(after) && !isWord(before), closes: !/\s/.test(before) && !isWord(after) }
}

/** The positions of backtick runs by length. They are requested from left to right only. */
function findTicks(source: string) {
  const places = new Map<number, number[]>()
  for (const { 0: run, index } of source.matchAll(/`+/g)) {
    const known = places.get(run.length)
    if (known) known.push(index)
    else places.set(run.length, [index])
  }
  const passed = new Map<number, number>()
  return {
    next(length: number, from: number): number | undefined {
      const known = places.get(length) ?? []
      let index = passed.get(length) ?? 0
      while (index < known.length && (known[index] ?? 0) < from) index += 1
      passed.set(length, index)
      return known[index]
    },
  }
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(source)
}

function render(pieces: readonly Piece[]): FormattedText {
  let text = ''
  const entities: TextEntity[] = []
  const begun: { what: Style | 'link'; offset: number }[] = []
  const codes: TextEntity[] = []

  function endStyle(style: Style, offset: number): void {
    // A style inside itself adds nothing; and code has no other style.
    if (begun.some(({ what }) => what === style)) return
    let end = text.length
    for (let at = codes.length - 1; at >= 0; at -= 1) {
      const code = codes[at]
      if (!code || code.offset < offset) break
      const from = code.offset + code.length
      addEntity({ type: style, offset: from, length: end - from })
      end = code.offset
    }
    addEntity({ type: style, offset, length: end - offset })
  }

  function endLink(url: URL, offset: number): void {
    const label = text.slice(offset)
    if (label.trim() === '') text += url.href
    addEntity({ type: 'text_link', offset, length: text.length - offset, url: url.href })
    for (let at = codes.length - 1; at >= 0 && (codes[at]?.offset ?? 0) >= offset; at -= 1) codes.splice(at, 1)
    if (label.trim() !== '') text += shownHost(label, url)
  }

  function addEntity(entity: TextEntity): void {
    if (entity.length > 0 && text.slice(entity.offset, entity.offset + entity.length).trim() !== '') {
      entities.push(entity)
    }
  }

  for (const piece of pieces) {
    if (piece.opens) begun.push({ what: piece.opens, offset: text.length })
    else if (piece.closes) {
      const { offset } = begun.pop() ?? { offset: text.length }
      if (piece.closes !== 'link') endStyle(piece.closes, offset)
      else if (piece.url) endLink(piece.url, offset)
    } else {
      if (piece.isCode && piece.text.trim() !== '') {
        codes.push({ type: 'code', offset: text.length, length: piece.text.length })
      }
      text += piece.text
    }
  }
  return { text, entities: [...entities, ...codes].sort((a, b) => a.offset - b.offset || b.length - a.length) }
}

const delimiters = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/
const maxColumns = 20
const maxHeadLength = 2_000
/** About the width of a phone in landscape with a monospace font. */
const width = 56

function isTableStart(line: string, next: string | undefined): boolean {
  if (next === undefined || next.length > maxHeadLength || !line.includes('|') || !next.includes('|')) return false
  return delimiters.test(next) && cellsOf(line).length <= maxColumns
}

function formatTable(rows: readonly string[]): string {
  const [head = [], ...rest] = rows.map((row) => cellsOf(row).map((cell) => parseInline(cell).text))
  const cut = rest.map((cells) => cells.slice(0, Math.max(1, head.length)))
  return alignTable({ caption: '', head, rows: cut }, width).join('\n')
}

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

const fence = /^\s*(`{3,}(?=[^`]*$)|~{3,})(.*)$/
const heading = /^ {0,3}#{1,6}[ \t]+(.*)$/
const quoted = /^ {0,3}(?:> ?)+/
const listItem = /^([ \t]*)(?:[-*+•]|(\d{1,9}[.)]))[ \t]+(.*)$/
const rule = /^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$/
const deepest = 6

/**
 * A model's Markdown as text with entities (SEC-7, SEC-10): nothing in it can act as a Telegram command, nothing
 * invisible remains, and every link shows its target.
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

/** To its end or that of the text: a reply may be cut off. */
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

/** Nested quotes are shown as one: Telegram has no other. */
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
  // Bold must not contain code, so a heading with code stays plain.
  if (codes.length > 0) return inner
  return wrapFormatted({ ...inner, entities: inner.entities.filter(({ type }) => type !== 'bold') }, { type: 'bold' })
}

/** Lines up to another kind of block. A list item is a paragraph with a mark before it. */
function readParagraph(lines: readonly string[], at: number): Block {
  const item = listItem.exec(lines[at] ?? '')
  const taken = [item ? (item[3] ?? '') : (lines[at] ?? '').trimEnd()]
  let end = at + 1
  while (end < lines.length && !isBlockStart(lines, end)) {
    taken.push(item ? (lines[end] ?? '').trim() : (lines[end] ?? '').trimEnd())
    end += 1
  }
  const inner = parseInline(taken.join('\n'))
  return { formatted: item ? joinFormatted([plain(markOf(item)), withTask(inner)]) : inner, end }
}

function isBlockStart(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  if (line.trim() === '' || fence.test(line) || quoted.test(line) || listItem.test(line)) return true
  return heading.test(line) || rule.test(line) || isTableStart(line, lines[at + 1])
}

function markOf([, indent = '', number]: RegExpExecArray): string {
  const depth = Math.min(deepest, Math.floor(indent.replaceAll('\t', '    ').length / 2))
  return `${'  '.repeat(depth)}${number ?? '•'} `
}

/** `[x] done` has a ticked box. */
function withTask(item: FormattedText): FormattedText {
  const box = /^\[([ xX])\] /.exec(item.text)
  if (!box || item.entities.some(({ offset }) => offset < 4)) return item
  const rest = {
    text: item.text.slice(4),
    entities: item.entities.map((entity) => ({ ...entity, offset: entity.offset - 4 })),
  }
  return joinFormatted([plain(box[1] === ' ' ? '☐ ' : '☑ '), rest])
}

/** CHAN-1. Telegram's limit is 4,096; this leaves space for a line before it. */
const maxTextLength = 4_000

/**
 * Splits the text into pieces of at most `limit` units: between paragraphs, lines or words if that leaves no short
 * piece, and never inside a character. A split entity continues in the next piece. Joined, the pieces are the text.
 */
export function splitFormatted({ text, entities }: FormattedText, limit = maxTextLength): FormattedText[] {
  const pieces: FormattedText[] = []
  let from = 0
  while (text.length - from > limit) {
    const to = from + cutBefore(text.slice(from, from + limit), text[from + limit] ?? '')
    pieces.push(slice({ text, entities }, from, to))
    from = to
  }
  return [...pieces, slice({ text, entities }, from, text.length)]
}

function cutBefore(window: string, next: string): number {
  const shortest = window.length / 2
  for (const boundary of ['\n\n', '\n', ' ']) {
    const at = window.lastIndexOf(boundary)
    if (at >= shortest) return at + boundary.length
  }
  const isPair = /[\ud800-\udbff]$/.test(window) && /^[\udc00-\udfff]/.test(next)
  return isPair && window.length > 1 ? window.length - 1 : window.length
}

function slice({ text, entities }: FormattedText, from: number, to: number): FormattedText {
  const kept = entities.flatMap((entity): TextEntity[] => {
    const start = Math.max(from, entity.offset)
    const end = Math.min(to, entity.offset + entity.length)
    if (end <= start || text.slice(start, end).trim() === '') return []
    return [{ ...entity, offset: start - from, length: end - start }]
  })
  return { text: text.slice(from, to), entities: kept }
}
