export interface MarkdownPart {
  text: string
  /** Too long for anybody to have written it: shown as it is. */
  isPlain: boolean
}

/** What a paragraph may hold before it is shown as it is. */
const longestParagraph = 8_000
/** What is parsed together, about: while a text grows, only its last part is parsed again. */
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
    const isPlain = paragraph.length > longestParagraph && !isFenced && !hasFence(paragraph)
    const last = parts.at(-1)
    const goesOn =
      last && !last.isPlain && !isPlain && (isFenced || last.text.length < usualPart || continues(paragraph))
    if (goesOn) last.text += paragraph
    else parts.push({ text: paragraph, isPlain })
    if (countFences(paragraph) % 2 === 1) isFenced = !isFenced
  }
  return parts
}

/** A list, a quote or a table may go on after an empty line. */
function continues(paragraph: string): boolean {
  return /^(?:[-*+>|]|\d{1,9}[.)])/.test(paragraph)
}

const fence = /^ {0,3}(?:```|~~~)/gm
const countFences = (paragraph: string) => paragraph.match(fence)?.length ?? 0
const hasFence = (paragraph: string) => countFences(paragraph) > 0
