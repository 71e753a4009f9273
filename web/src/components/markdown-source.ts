import { Marked, type Token, Tokenizer, type Tokens } from 'marked'

/** A formula in a text. `raw` is kept for the places that show the source. */
export interface MathToken {
  type: 'math'
  raw: string
  tex: string
  isDisplay: boolean
}

/** `[^label]` in a text. */
export interface FootnoteMark {
  type: 'footnote_mark'
  raw: string
  label: string
}

/** `[^label]: text` on lines of its own; lines that are indented belong to it. */
export interface FootnoteText {
  type: 'footnote_text'
  raw: string
  label: string
  tokens: Token[]
}

const footnoteLabel = String.raw`\[\^([^\]\s^[]{1,60})\]`
const footnoteStart = new RegExp(String.raw`^ {0,3}${footnoteLabel}:(?:[ \t]+|(?=\n))`)
/** A colon follows the label of a text, and a mark at the end of a sentence such as `as follows[^1]:`. */
const footnoteMark = new RegExp(`^${footnoteLabel}`)

/**
 * The footnotes of a text with their numbers, in the order of their first marks, as far as they have both a mark and a text. Code is
 * not left out: a footnote that only code mentions gets a number that nothing shows.
 */
export function numberFootnotes(text: string): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  if (!text.includes('[^')) return numbers
  const texts = new Set(Array.from(text.matchAll(new RegExp(`^ {0,3}${footnoteLabel}:`, 'gm')), ([, label]) => label))
  const marks = text.matchAll(new RegExp(`(?<!^ {0,3})${footnoteLabel}|${footnoteLabel}(?!:)`, 'gm'))
  for (const [, inLine, atStart] of marks) {
    const label = inLine ?? atStart ?? ''
    if (texts.has(label) && !numbers.has(label)) numbers.set(label, numbers.size + 1)
  }
  return numbers
}

// A formula has no blank line in it: an unclosed one must not swallow the paragraphs that follow.
const line = String.raw`\n(?![ \t]*\n)`
const dollars = String.raw`\$\$((?:[^$\\\n]|\\[^\n]|${line}){1,4000}?)\$\$`
const brackets = String.raw`\\\[((?:[^\\\n]|\\(?![[\]])[^\n]|${line}){1,4000}?)\\\]`
const parentheses = String.raw`\\\(((?:[^\\\n]|\\(?![()])[^\n]|${line}){1,4000}?)\\\)`
// As in Pandoc: no space inside the dollar signs, and neither a digit nor a letter after the closing one.
const dollar = String.raw`\$(?![\s$])((?:[^$\\\n${'`'}]|\\[^\n]|${line}){1,1000}?)(?<!\s)\$(?![\dA-Za-z$])`

const blockForms = [new RegExp(`^ {0,3}${dollars}[ \\t]*(?:\\n+|$)`), new RegExp(`^ {0,3}${brackets}[ \\t]*(?:\\n+|$)`)]
const inlineForms: { form: RegExp; isDisplay: boolean }[] = [
  { form: new RegExp(`^${dollars}`), isDisplay: true },
  { form: new RegExp(`^${brackets}`), isDisplay: true },
  { form: new RegExp(`^${parentheses}`), isDisplay: false },
  { form: new RegExp(`^${dollar}`), isDisplay: false },
]

/** "$5 a day or 10$" is about money. */
const isMoney = (tex: string) => /^[\d.,]+[kKmMbB]?\s.*[A-Za-z]{2}/.test(tex) && !/[\\^_={}]/.test(tex)

/** Quotation marks and CJK punctuation that end an address in running text, though a URL could hold them. */
const endOfAddress = /[“”„‟«»‹›‘’‚‛…、。，；：！？（）【】「」『』〈〉《》]/

const marked = new Marked({
  gfm: true,
  tokenizer: {
    url(source) {
      const end = source.search(endOfAddress)
      return end < 0 ? false : Tokenizer.prototype.url.call(this, source.slice(0, end))
    },
  },
  extensions: [
    {
      name: 'footnote_text',
      level: 'block',
      start: (source) => /^ {0,3}\[\^/m.exec(source)?.index,
      tokenizer(source): FootnoteText | undefined {
        const [start, label = ''] = footnoteStart.exec(source) ?? []
        if (start === undefined) return undefined
        const raw = /^[^\n]*(?:\n(?:(?: {2,}|\t)[^\n]*|[ \t]*(?=\n(?: {2,}|\t)\S)))*\n?/.exec(source)?.[0] ?? start
        const text = raw.slice(start.length).replaceAll(/^(?: {1,4}|\t)/gm, '')
        return { type: 'footnote_text', raw, label, tokens: this.lexer.blockTokens(text.trim(), []) }
      },
    },
    {
      name: 'footnote_mark',
      level: 'inline',
      start: (source) => /\[\^/.exec(source)?.index,
      tokenizer(source): FootnoteMark | undefined {
        const [raw, label = ''] = footnoteMark.exec(source) ?? []
        return raw === undefined ? undefined : { type: 'footnote_mark', raw, label }
      },
    },
    {
      name: 'math',
      level: 'block',
      start: (source) => /^ {0,3}(?:\$\$|\\\[)/m.exec(source)?.index,
      tokenizer(source): MathToken | undefined {
        for (const form of blockForms) {
          const match = form.exec(source)
          if (match?.[1]?.trim()) return { type: 'math', raw: match[0], tex: match[1].trim(), isDisplay: true }
        }
        return undefined
      },
    },
    {
      name: 'math',
      level: 'inline',
      start: (source) => /\$|\\[([]/.exec(source)?.index,
      tokenizer(source, tokens): MathToken | undefined {
        // `US$5` and `\\$` are no opening dollar signs.
        if (source.startsWith('$') && /[\w$\\]$/.test(tokens.at(-1)?.raw ?? '')) return undefined
        for (const { form, isDisplay } of inlineForms) {
          const match = form.exec(source)
          const tex = match?.[1]?.trim()
          if (match && tex && (isDisplay || !isMoney(tex))) return { type: 'math', raw: match[0], tex, isDisplay }
        }
        return undefined
      },
    },
  ],
})

/** The blocks of a Markdown text, with formulas as tokens of their own. */
export const lexMarkdown = (text: string): Token[] => marked.lexer(text)

/** The words of tokens without their marks, as a reader sees them. */
export function textOfTokens(tokens: readonly Token[] | undefined): string {
  return (tokens ?? [])
    .map((token) => {
      if ('tokens' in token && token.tokens) return textOfTokens(token.tokens)
      return 'text' in token && typeof token.text === 'string' ? token.text : token.raw
    })
    .join('')
}

/** Whether a fence has its end: the text of an open one may still grow. */
export function isClosed({ raw, codeBlockStyle }: Tokens.Code): boolean {
  if (codeBlockStyle === 'indented') return true
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(raw)?.[1]
  return fence !== undefined && raw.trimEnd().split('\n').slice(1).at(-1)?.trim().startsWith(fence) === true
}

interface MarkdownPart {
  text: string
  /** Too long to be written by a person: shown as plain text. */
  isPlain: boolean
}

/** A longer paragraph is shown as plain text, unless it is a list or a table. */
const maxParagraphLength = 8_000
/** The size of a part that is parsed together: while a text grows, only its last part is parsed again. */
const usualPart = 2_000

/**
 * A text in parts that can be parsed by themselves; one after another they are the text. Parsing emphasis takes time in the
 * square of a paragraph's length for text that is made for it (23 seconds for 50 kB of `_a _a`), so such a paragraph is not parsed.
 */
export function splitMarkdown(text: string): MarkdownPart[] {
  if (text.length <= usualPart) return text === '' ? [] : [{ text, isPlain: false }]
  const parts: MarkdownPart[] = []
  let isFenced = false
  for (const paragraph of text.split(/(?<=\n\n)(?=\S)/)) {
    const isLong = paragraph.length > maxParagraphLength && !isFenced && !hasFence(paragraph)
    const pieces = isLong ? splitLong(paragraph) : undefined
    const last = parts.at(-1)
    const goesOn =
      last && !last.isPlain && !isLong && (isFenced || last.text.length < usualPart || continues(paragraph))
    if (pieces) parts.push(...pieces.map((piece) => ({ text: piece, isPlain: false })))
    else if (goesOn) last.text += paragraph
    else parts.push({ text: paragraph, isPlain: isLong })
    if (countFences(paragraph) % 2 === 1) isFenced = !isFenced
  }
  return parts
}

/** A long list in groups of items, or a long table as it is: each of their lines is parsed by itself. Undefined for other text. */
function splitLong(paragraph: string): string[] | undefined {
  if (isLongTable(paragraph)) return [paragraph]
  const items = paragraph.split(/(?<=\n)(?=(?:[-*+]|\d{1,9}[.)]) )/)
  if (items.length < 2 || !/^(?:[-*+]|\d{1,9}[.)]) /.test(paragraph)) return undefined
  const groups: string[] = []
  for (const item of items) {
    if (item.length > usualPart) return undefined
    const last = groups.at(-1)
    if (last !== undefined && last.length + item.length <= usualPart) groups[groups.length - 1] = last + item
    else groups.push(item)
  }
  return groups
}

/** Whether it is a table and nothing else, with more rows than are shown at once. Its lines are of usual lengths. */
export function isLongTable(text: string): boolean {
  if (text.length <= usualPart || !text.startsWith('|')) return false
  const lines = text.trimEnd().split('\n')
  if (!lines.every((line) => line.startsWith('|') && line.length <= usualPart)) return false
  // The lexer decides about the first lines: they may only look like a table.
  return lexMarkdown(lines.slice(0, 3).join('\n'))[0]?.type === 'table'
}

/** A list, a quote or a table may continue after an empty line. */
function continues(paragraph: string): boolean {
  return /^(?:[-*+>|]|\d{1,9}[.)])/.test(paragraph)
}

const fence = /^ {0,3}(?:```|~~~)/gm
const countFences = (paragraph: string) => paragraph.match(fence)?.length ?? 0
const hasFence = (paragraph: string) => countFences(paragraph) > 0

/** Of the name of a file or document. */
export const maxNameLength = 120
export const fileName = String.raw`[\w@][\w@./+-]{0,100}\.[A-Za-z][A-Za-z0-9]{0,9}`
const isFileName = new RegExp(`^${fileName}$`)
const namedField =
  /(?:^|[\s{,])(?:title|file(?:_?name)?|name|path)\s*=\s*(?:"([^"]{1,120})"|'([^']{1,120})'|([^\s,}"']{1,120}))/i

/** The language and the file name after the marks of a fence, such as `html index.html`, `ts:src/app.ts` or `py title="a.py"`. */
export function readInfo(info: string): { language: string; name?: string } {
  const text = info.trim().slice(0, 400)
  const [first = ''] = text.split(/[\s{,]/, 1)
  const field = namedField.exec(text)
  const named = field?.[1] ?? field?.[2] ?? field?.[3]
  const colon = first.indexOf(':')
  const behindColon = colon > 0 ? first.slice(colon + 1) : ''
  const second = text.slice(first.length).trim().split(/\s/, 1)[0] ?? ''
  const name = [named, behindColon, second, first].find((one) => one && (one === named || isFileName.test(one)))
  const language = isFileName.test(first) && colon < 0 ? endingOf(first) : colon > 0 ? first.slice(0, colon) : first
  return { language: language.replace(/^\./, '').toLowerCase(), ...(name && { name: name.slice(0, maxNameLength) }) }
}

export const endingOf = (name: string) => /\.([A-Za-z0-9]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? ''
