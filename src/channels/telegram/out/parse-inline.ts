import type { FormattedText, TextEntity } from './formatted-text.ts'
import { readLink, shownHost } from './shown-link.ts'

type Style = 'bold' | 'italic' | 'strikethrough'

/** A piece of the source. What it means to open or close may turn out to be nothing: then it is its own text. */
interface Piece {
  text: string
  opens?: Style | 'link'
  closes?: Style | 'link'
  /** Of what closes a link. */
  url?: URL
  isCode?: true
}

/** Something that may be closed yet: one of each mark at most, and brackets. */
interface Opening {
  mark: string
  piece: Piece
}

const ordinary = /[^\\`*_~[\]!h]+/y
const address = /https?:\/\/[^\s<>"'`*~|()[\]]+/y
// Every repetition has an end, or a row of spaces would be tried in all the ways in which it can be parted.
const target =
  /\(\s{0,3}(?:<([^<>\n]{0,2000})>|([^\s()<>]{0,2000}(?:\([^\s()]{0,500}\)[^\s()<>]{0,2000})?))(?:\s{1,3}"[^"\n]{0,500}")?\s{0,3}\)/y
const escapable = /[!-/:-@[-`{-~]/
const wordCharacter = /[\p{L}\p{N}_]/u
const bracket = '['
/** More than that nobody has opened on purpose; it keeps the work in proportion to the text. */
const mostOpen = 100

/**
 * The Markdown within a paragraph. In one pass whatever the text: what a model says may be anybody's words, and must not
 * hold up everybody else.
 */
export function parseInline(source: string): FormattedText {
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
      if (opens && open.length < mostOpen && !open.some((known) => known.mark === mark)) open.push({ mark, piece })
      left -= mark.length
    }
    return run
  }

  function takeBracket(text: string): string {
    const piece: Piece = { text }
    pieces.push(piece)
    if (open.length < mostOpen) open.push({ mark: bracket, piece })
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
    // There is no link within a link.
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
        // What looks like Markdown within an address is a part of it.
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

/** Marks that stand alone between spaces are no marks; underscores inside a word are a part of it. */
function flanks(source: string, { at, length, character }: { at: number; length: number; character: string }) {
  const before = source[at - 1] ?? ' '
  const after = source[at + length] ?? ' '
  const isWord = (text: string) => character === '_' && wordCharacter.test(text)
  return { opens: !/\s/.test(after) && !isWord(before), closes: !/\s/.test(before) && !isWord(after) }
}

/** Where runs of backticks of each length stand. They are asked for from left to right only. */
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
    // Within one of the same there is nothing to add; and what is code is nothing else.
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
