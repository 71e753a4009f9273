/** `|` keeps lines, `>` folds them; behind it how the end is kept, and how far the text is indented where that is said. */
const header = /^([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?[ \t]*(?:[ \t]#.*)?$/

interface BlockHeader {
  isFolded: boolean
  end: 'clip' | 'strip' | 'keep'
  indent: number | undefined
}

export function readBlockHeader(text: string): BlockHeader | undefined {
  const found = header.exec(text)
  if (!found) return undefined
  const sign = found[2] ?? found[5]
  const digit = found[3] ?? found[4]
  return {
    isFolded: found[1] === '>',
    end: sign === '-' ? 'strip' : sign === '+' ? 'keep' : 'clip',
    indent: digit === undefined ? undefined : Number(digit),
  }
}

/** The text below a header, from line `start` on, and the line behind it. `outer` is how far its key is indented. */
export function readBlockScalar(
  lines: readonly string[],
  { start, outer, header }: { start: number; outer: number; header: BlockHeader },
): { value: string; end: number } {
  const first = lines.slice(start).find((line) => line.trim() !== '')
  const indent = header.indent === undefined ? indentOf(first ?? '') : outer + header.indent
  let end = start
  if (indent > outer) while (end < lines.length && isInside(lines[end] ?? '', indent)) end += 1
  const content = lines.slice(start, end).map((line) => line.slice(indent))
  while (content.at(-1) === '') content.pop()
  const trailing = '\n'.repeat(end - start - content.length)
  const text = header.isFolded ? fold(content) : content.join('\n')
  if (header.end === 'strip' || (text === '' && header.end === 'clip')) return { value: text, end }
  return { value: `${text}${text === '' ? '' : '\n'}${header.end === 'keep' ? trailing : ''}`, end }
}

function isInside(line: string, indent: number): boolean {
  return line.trim() === '' || indentOf(line) >= indent
}

export function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

/** Lines become one, but for empty ones between them and for those that stand further in. */
function fold(lines: readonly string[]): string {
  let text = ''
  let empty = 0
  let before: string | undefined
  for (const line of lines) {
    if (line === '') {
      empty += 1
      continue
    }
    if (before === undefined) text = '\n'.repeat(empty) + line
    else {
      const isKept = /^[ \t]/.test(line) || /^[ \t]/.test(before)
      text += (isKept ? '\n'.repeat(empty + 1) : empty === 0 ? ' ' : '\n'.repeat(empty)) + line
    }
    before = line
    empty = 0
  }
  return text
}
