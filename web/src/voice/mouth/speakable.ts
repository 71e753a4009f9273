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
