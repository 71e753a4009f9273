import type { EditorTheme, MarkdownTheme } from '@earendil-works/pi-tui'
import { highlightCode } from './highlight-code.ts'

type Paint = (text: string) => string

/** One accent, dim for what is secondary, and the colours of the terminal itself, so that light and dark both work. */
export interface Theme {
  accent: Paint
  dim: Paint
  bold: Paint
  good: Paint
  warning: Paint
  bad: Paint
  /** For one text: it knows which of its fences are open. */
  markdown(): MarkdownTheme
  editor: EditorTheme
}

/** Without colours, bold and dim go too: NO_COLOR asks for plain text. */
export function createTheme(options: { colours: boolean }): Theme {
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
    markdown() {
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
    },
  }
}
