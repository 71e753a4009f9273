import type { EditorTheme, MarkdownTheme } from '@earendil-works/pi-tui'

type Paint = (text: string) => string

export type TerminalTheme = ReturnType<typeof createTheme>

/**
 * One accent, dim for secondary text, and the terminal's own colors, so that light and dark themes work. Without colors,
 * bold and dim are off too: NO_COLOR asks for plain text.
 */
export function createTheme(options: { colours: boolean }) {
  const paint =
    (on: number, off: number): Paint =>
    (text) =>
      options.colours && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text
  const plain: Paint = (text) => text
  const accent = paint(36, 39)
  const dim = paint(2, 22)
  const bold = paint(1, 22)
  const good = paint(32, 39)
  const warning = paint(33, 39)
  const bad = paint(31, 39)
  const codeStyles = { plain, keyword: accent, text: good, number: warning, comment: dim }

  return {
    accent,
    dim,
    bold,
    good,
    warning,
    bad,
    /** For one text: it knows which of its fences are open. */
    markdown(): MarkdownTheme {
      let isInCode = false
      return {
        heading: bold,
        link: plain,
        linkUrl: dim,
        code: accent,
        codeBlock: plain,
        // Of the library's fences only the name of the language is kept.
        codeBlockBorder(fence) {
          isInCode = !isInCode
          return dim(isInCode ? `╭─ ${fence.replace(/^`+/, '')}` : '╰─')
        },
        codeBlockIndent: dim('│ '),
        quote: dim,
        quoteBorder: dim,
        hr: dim,
        listBullet: accent,
        bold,
        italic: paint(3, 23),
        strikethrough: paint(9, 29),
        underline: paint(4, 24),
        highlightCode: (code, language) => highlightCode(code, language, codeStyles),
      }
    },
    editor: {
      borderColor: dim,
      selectList: {
        selectedPrefix: accent,
        selectedText: accent,
        description: dim,
        scrollInfo: dim,
        noMatch: dim,
      },
    } satisfies EditorTheme,
  }
}

type CodeStyle = 'plain' | 'keyword' | 'text' | 'number' | 'comment'

interface CodeToken {
  style: CodeStyle
  text: string
}

interface Language {
  keywords: ReadonlySet<string>
  /** The start of a comment that ends with its line. */
  lineComment?: RegExp
  /** The start and the end of a comment. */
  blockComment?: [begin: string, end: string]
  /** The marks around a text; the longer first. */
  quotes: readonly string[]
}

const words = (text: string) => new Set(text.split(' '))
const slashes = /\/\//y
const hash = /#/y
const curly: Pick<Language, 'lineComment' | 'blockComment'> = { lineComment: slashes, blockComment: ['/*', '*/'] }

const script: Language = {
  ...curly,
  quotes: ['`', '"', "'"],
  keywords: words(
    'abstract as async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of private protected public readonly return satisfies static super switch this throw true try type typeof undefined var void while yield',
  ),
}
const python: Language = {
  lineComment: hash,
  quotes: ['"""', "'''", '"', "'"],
  keywords: words(
    'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield',
  ),
}
const shell: Language = {
  lineComment: /(?<=^|\s)#/y,
  quotes: ['"', "'"],
  keywords: words('case do done elif else esac export fi for function if in local return set then until while'),
}
const compiled: Language = {
  ...curly,
  quotes: ['"', "'"],
  keywords: words(
    'async await bool break case char class const continue default defer do double else enum extern false final float fn for func go if impl import in int interface let long loop match mod mut namespace new nil null nullptr override package private protected pub public range return self select short static struct super switch template this throw trait true try type unsafe use using var virtual void where while',
  ),
}
const query: Language = {
  lineComment: /--/y,
  blockComment: ['/*', '*/'],
  quotes: ["'", '"'],
  keywords: words(
    'add all alter and as asc begin by case commit create default delete desc distinct drop else end exists foreign from group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning select set table then union unique update using values when where with',
  ),
}
const data: Language = { lineComment: /(?<=^|\s)#/y, quotes: ['"', "'"], keywords: words('true false null yes no') }
const style: Language = { blockComment: ['/*', '*/'], quotes: ['"', "'"], keywords: words('important media supports') }

const languages: Record<string, Language> = {
  ...named(script, 'js javascript jsx ts typescript tsx mjs cjs'),
  ...named(python, 'py python python3'),
  ...named(shell, 'sh bash zsh shell console'),
  ...named(compiled, 'c cpp c++ h cs csharp java kotlin kt go rust rs swift php dart scala'),
  ...named(query, 'sql sqlite postgres postgresql mysql'),
  ...named(data, 'json jsonc yaml yml toml ini'),
  ...named(style, 'css scss less'),
}

function named(language: Language, names: string): Record<string, Language> {
  return Object.fromEntries(names.split(' ').map((name) => [name, language]))
}

/** Lines of code with colors. An unknown language stays plain. */
export function highlightCode(
  code: string,
  language: string | undefined,
  styles: Record<CodeStyle, (text: string) => string>,
): string[] {
  const lines: string[] = ['']
  for (const { style, text } of tokenizeCode(code, language)) {
    for (const [place, part] of text.split('\n').entries()) {
      if (place > 0) lines.push('')
      lines[lines.length - 1] += styles[style](part)
    }
  }
  return lines
}

const identifier = /[\p{L}_$][\p{L}\p{N}_$]*/uy
const number = /\d[\w.]*/y

/** The code cut into pieces: joined again they are the code. A text or comment without its end goes to the end. */
export function tokenizeCode(code: string, name = ''): CodeToken[] {
  const key = name.trim().toLowerCase()
  const language = Object.hasOwn(languages, key) ? languages[key] : undefined
  if (!language) return code === '' ? [] : [{ style: 'plain', text: code }]
  const tokens: CodeToken[] = []
  const ignoresCase = language === query

  function push(style: CodeStyle, text: string): void {
    const last = tokens.at(-1)
    if (last?.style === style) last.text += text
    else tokens.push({ style, text })
  }

  for (let place = 0; place < code.length; ) {
    const [style, end] = next(code, place, language, ignoresCase)
    push(style, code.slice(place, end))
    place = end
  }
  return tokens
}

function next(code: string, place: number, language: Language, ignoresCase: boolean): [style: CodeStyle, end: number] {
  const { lineComment, blockComment, quotes, keywords } = language
  if (blockComment && code.startsWith(blockComment[0], place)) {
    return ['comment', endOf(code, blockComment[1], place + blockComment[0].length)]
  }
  if (lineComment && matchAt(lineComment, code, place)) return ['comment', endOfLine(code, place)]
  const quote = quotes.find((mark) => code.startsWith(mark, place))
  if (quote) return ['text', endOfText(code, quote, place + quote.length)]
  const word = matchAt(identifier, code, place)
  if (word) {
    const isKeyword = keywords.has(ignoresCase ? word.toLowerCase() : word)
    return [isKeyword ? 'keyword' : 'plain', place + word.length]
  }
  const digits = matchAt(number, code, place)
  return digits ? ['number', place + digits.length] : ['plain', place + 1]
}

function matchAt(pattern: RegExp, code: string, place: number): string | undefined {
  pattern.lastIndex = place
  return pattern.exec(code)?.[0]
}

function endOf(code: string, mark: string, from: number): number {
  const found = code.indexOf(mark, from)
  return found < 0 ? code.length : found + mark.length
}

function endOfLine(code: string, place: number): number {
  const end = code.indexOf('\n', place)
  return end < 0 ? code.length : end
}

/** Quotes of one character end with their line, so that an apostrophe in a comment of an unknown kind colors little. */
function endOfText(code: string, quote: string, from: number): number {
  const crossesLines = quote.length > 1 || quote === '`'
  for (let place = from; place < code.length; place += 1) {
    if (code[place] === '\\') place += 1
    else if (code.startsWith(quote, place)) return place + quote.length
    else if (code[place] === '\n' && !crossesLines) return place
  }
  return code.length
}
