import type { TextFormat } from './text-format.ts'

export interface Heading {
  /** 1 for the highest. Only the order counts. */
  level: number
  text: string
  /** How many lines it takes. */
  lines: number
}

type FindHeading = (lines: readonly string[], index: number) => Heading | undefined

// A line can be megabytes long; a heading is not.
const longestHeading = 300

const marks: Record<TextFormat, RegExp | undefined> = {
  markdown: /^ {0,3}(#{1,6})[ \t]+(\S.*)/,
  asciidoc: /^(={1,6})[ \t]+(\S.*)/,
  org: /^(\*{1,20})[ \t]+(\S.*)/,
  restructured: undefined,
}

/** Finds out whether a heading begins at a line. One for each text: the underlines of some formats get their level by use. */
export function createHeadingFinder(format: TextFormat): FindHeading {
  if (format === 'restructured') return createUnderlinedFinder()
  return (lines, index) =>
    markedHeading(lines[index], format) ?? (format === 'markdown' ? underlined(lines, index, '=-') : undefined)
}

/** A heading that its own line says to be one: it also ends a paragraph without a blank line between. */
export function markedHeading(line: string | undefined, format: TextFormat): Heading | undefined {
  if (line === undefined || line.length > longestHeading) return undefined
  const [, signs, text] = marks[format]?.exec(line) ?? []
  if (signs === undefined || text === undefined) return undefined
  return { level: signs.length, text: text.replace(/\s#+\s*$/, '').trim(), lines: 1 }
}

function underlined(lines: readonly string[], index: number, marks: string): Heading | undefined {
  const text = lines[index]
  const mark = underline(lines[index + 1])
  if (!text || text.length > longestHeading || text.trim() === '' || !mark || !marks.includes(mark)) return undefined
  if (underline(text) || /^\s*(?:[-*+>|]|\d{1,9}[.)])/.test(text)) return undefined
  return { level: marks.indexOf(mark) + 1, text: text.trim(), lines: 2 }
}

/** reStructuredText: any sign may underline, with a line above or without; each new style is one level deeper. */
function createUnderlinedFinder(): FindHeading {
  const styles: string[] = []
  return (lines, index) => {
    const above = underline(lines[index])
    const heading = underlined(lines, above ? index + 1 : index, restructuredMarks)
    const mark = underline(lines[index + (above ? 2 : 1)])
    if (!heading || (above && above !== mark)) return undefined
    const style = above ? `${mark}${mark}` : `${mark}`
    if (!styles.includes(style)) styles.push(style)
    return { level: styles.indexOf(style) + 1, text: heading.text, lines: above ? 3 : 2 }
  }
}

const restructuredMarks = '=-`:.\'"~^_*+#<>'

/** The sign that the whole line is made of, where it is at least three of one. */
function underline(line: string | undefined): string | undefined {
  if (line === undefined || line.length > longestHeading) return undefined
  const trimmed = line.trimEnd()
  const mark = trimmed[0]
  return mark !== undefined && trimmed.length >= 3 && trimmed === mark.repeat(trimmed.length) ? mark : undefined
}
