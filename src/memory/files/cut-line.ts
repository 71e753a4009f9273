export interface Span {
  start: number
  end: number
}

/**
 * Cuts a line that is too long: behind a sentence where there is one about `target` characters away, else between words,
 * else anywhere but inside a character. Only white space lies between the pieces.
 */
export function* cutLine(line: string, { target, most }: { target: number; most: number }): Generator<Span> {
  let start = skipSpace(line, 0)
  while (start < line.length) {
    const end = line.length - start <= most ? line.length : cutAt(line, start, { target, most })
    const next = skipSpace(line, end)
    yield { start, end: next === line.length ? lastOfText(line) : end }
    start = next
  }
}

function cutAt(line: string, start: number, { target, most }: { target: number; most: number }): number {
  const least = start + Math.floor(target / 2)
  return (
    lastEnd(line, { from: start + target, downTo: least }, isSentenceEnd) ??
    lastEnd(line, { from: start + most, downTo: start + target }, isSentenceEnd) ??
    lastEnd(line, { from: start + target, downTo: least }, isSpaceAt) ??
    offSurrogate(line, start + target)
  )
}

function lastEnd(
  line: string,
  { from, downTo }: { from: number; downTo: number },
  isEnd: (line: string, index: number) => boolean,
): number | undefined {
  for (let index = from; index > downTo; index -= 1) if (isEnd(line, index)) return index
  return undefined
}

const closing = '"\'”’»)]'

function isSentenceEnd(line: string, index: number): boolean {
  const wide = '。！？'.includes(line.charAt(index - 1))
  if (wide) return true
  if (!isSpaceAt(line, index)) return false
  const before = closing.includes(line.charAt(index - 1)) ? index - 2 : index - 1
  return '.!?…'.includes(line.charAt(before))
}

function isSpaceAt(line: string, index: number): boolean {
  return /\s/.test(line.charAt(index))
}

function offSurrogate(line: string, index: number): number {
  const code = line.charCodeAt(index)
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index
}

function skipSpace(line: string, index: number): number {
  while (index < line.length && isSpaceAt(line, index)) index += 1
  return index
}

function lastOfText(line: string): number {
  return line.trimEnd().length
}
