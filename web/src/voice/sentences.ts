import { Lexer, type Token } from 'marked'

const citation = /\[memory:[0-9a-f-]{8,40}\]/g
const address = /\b(?:https?:\/\/|www\.)\S+/gi

/** One line of Markdown, or a part of one, as a voice should say it: without its marks, addresses and pictures. */
export function speakable(line: string): string {
  const trimmed = line.trim()
  if (isRule(trimmed)) return ''
  const bare = trimmed
    .replace(/^(?:>\s*)+/, '')
    .replace(/^#{1,6}\s+/, '')
    .replace(/^(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?/, '')
  const text = bare.startsWith('|') ? cells(bare) : plain(Lexer.lexInline(bare.replaceAll(citation, '')))
  const said = text
    .replaceAll(address, '')
    .replaceAll(/\p{Extended_Pictographic}\u{FE0F}?/gu, '')
    .replaceAll(/\s+([,.;:!?])/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return /[\p{L}\p{N}]/u.test(said) ? said : ''
}

/** A line across the page, or the one beneath the heads of a table. */
function isRule(line: string): boolean {
  return /^[-*_=|:\s]+$/.test(line)
}

function cells(row: string): string {
  return row
    .split('|')
    .map((cell) => plain(Lexer.lexInline(cell.trim())))
    .filter(Boolean)
    .join(', ')
}

function plain(tokens: readonly Token[]): string {
  return tokens.map(plainOne).join('')
}

function plainOne(token: Token): string {
  switch (token.type) {
    case 'html':
      return ''
    case 'br':
      return ' '
    case 'image':
      return ''
    default:
      if ('tokens' in token && token.tokens) return plain(token.tokens)
      return 'text' in token ? String(token.text) : ''
  }
}

/** Voices of browsers fall silent in the middle of longer ones. */
const longest = 220
const sentenceEnd = /[.!?…]+["'”’»)\]*_`]*(?=\s)|[。！？]+[”’」』]*/g
const abbreviation = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|no|dr|mr|mrs|ms|prof|st|z\.b|d\.h|bzw|ca|nr|\p{L})\.$/iu

/**
 * The sentences of a Markdown text from a place on, as a voice says them. While the text still grows, only those that are whole;
 * `end` is where to continue. Code is left out.
 */
export function takeSentences(
  text: string,
  { from = 0, isWhole = true }: { from?: number; isWhole?: boolean } = {},
): { sentences: string[]; end: number } {
  const sentences: string[] = []
  let end = from
  for (let next = endOfPiece(text, end, isWhole); next !== undefined; next = endOfPiece(text, end, isWhole)) {
    const piece = text.slice(next.start, next.end)
    if (!next.isCode) sentences.push(...shortened(speakable(piece)))
    end = next.end
  }
  return { sentences, end }
}

interface Piece {
  start: number
  end: number
  isCode: boolean
}

/** Undefined where there is nothing whole. */
function endOfPiece(text: string, from: number, isWhole: boolean): Piece | undefined {
  const gap = text.slice(from).search(/\S/)
  if (gap < 0) return undefined
  const start = from + gap
  const fence = /^(?:`{3,}|~{3,})/.exec(text.slice(start))?.[0]
  if (fence !== undefined && isAtLineStart(text, start)) return endOfCode(text, { start, fence, isWhole })
  const lineEnd = text.indexOf('\n', start)
  const line = text.slice(start, lineEnd < 0 ? text.length : lineEnd)
  const length = sentenceLength(line)
  if (length !== undefined) return { start, end: start + length, isCode: false }
  if (lineEnd >= 0) return { start, end: lineEnd, isCode: false }
  return isWhole ? { start, end: text.length, isCode: false } : undefined
}

function endOfCode(
  text: string,
  { start, fence, isWhole }: { start: number; fence: string; isWhole: boolean },
): Piece | undefined {
  const close = new RegExp(`\\n[ \\t]*${fence}[${fence[0]}]*[ \\t]*(?=\\n|$)`, 'g')
  close.lastIndex = start
  const end = close.exec(text) ? close.lastIndex : undefined
  if (end !== undefined) return { start, end, isCode: true }
  return isWhole ? { start, end: text.length, isCode: true } : undefined
}

function isAtLineStart(text: string, place: number): boolean {
  return text.slice(text.lastIndexOf('\n', place - 1) + 1, place).trim() === ''
}

function sentenceLength(line: string): number | undefined {
  for (const match of line.matchAll(sentenceEnd)) {
    const end = match.index + match[0].length
    const sentence = line.slice(0, end)
    if (!/^\d{1,9}\.$/.test(sentence) && !abbreviation.test(sentence) && isClosed(sentence)) return end
  }
  return undefined
}

/** Not within a link or a piece of code. */
function isClosed(sentence: string): boolean {
  const count = (mark: string) => sentence.split(mark).length - 1
  return count('`') % 2 === 0 && count('[') === count(']') && count('(') <= count(')')
}

function shortened(sentence: string): string[] {
  if (sentence === '') return []
  if (sentence.length <= longest) return [sentence]
  const head = sentence.slice(0, longest)
  const cut = Math.max(head.lastIndexOf(', '), head.lastIndexOf('; '), head.lastIndexOf(': '), head.lastIndexOf(' – '))
  const place = cut > longest / 3 ? cut + 1 : head.lastIndexOf(' ') > 0 ? head.lastIndexOf(' ') : longest
  return [sentence.slice(0, place).trim(), ...shortened(sentence.slice(place).trim())]
}
