/** What a paragraph may hold before it is shown as it is. */
const longestParagraph = 8_000

/**
 * Parsing emphasis takes time in the square of a paragraph's length for text that is made for it: 23 seconds for 50 kB of `_a _a`.
 * Paragraphs of people are short; a longer one is shown as it is written.
 */
export function splitLong(text: string): { text: string; isPlain: boolean }[] {
  if (text.length <= longestParagraph) return [{ text, isPlain: false }]
  const parts: { text: string; isPlain: boolean }[] = []
  for (const paragraph of text.split(/(?<=\n\n)/)) {
    const isPlain = paragraph.length > longestParagraph
    const last = parts.at(-1)
    if (last && !isPlain && !last.isPlain) last.text += paragraph
    else parts.push({ text: paragraph, isPlain })
  }
  return parts
}
