import { displayWidth } from '../../base/display-width.ts'

/** Lines of at most `width` columns, broken between words. A word that is longer stays whole: it may be an address. */
export function wrapText(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.replace(/[ \t]+/g, ' ').trim(), width))
}

function wrapLine(line: string, width: number): string[] {
  if (displayWidth(line) <= width) return [line]
  const lines: string[] = []
  let current = ''
  let used = 0
  for (const word of line.split(' ')) {
    const wordWidth = displayWidth(word)
    if (current !== '' && used + 1 + wordWidth > width) {
      lines.push(current)
      current = ''
      used = 0
    }
    current = current === '' ? word : `${current} ${word}`
    used += wordWidth + (used === 0 ? 0 : 1)
  }
  return [...lines, current]
}
