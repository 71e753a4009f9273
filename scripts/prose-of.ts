/** A piece of a source file that people read. */
export interface Prose {
  kind: 'comment' | 'string' | 'test name'
  text: string
  /** Offsets of the comment or literal, delimiters included; lines of a `//` block belong together. */
  start: number
  end: number
}

const beforeRegex = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|throw|yield|await))\s*$/
const beforeTestName = /(?<![.\w])(?:it|test|describe)(?:\.\w+(?:\.\w+)*)?(?:<[^<>]*>)?\($/
const beforeEachName = /^\s*(?:for|runIf|skipIf|each)?\s*$/

/**
 * Comments, string literals and test names of a TypeScript file. TypeScript 7 offers no scanner to programs, and a
 * lexer is enough here: it has to know strings, templates, regular expressions and comments, nothing else.
 */
export function proseOf(source: string): Prose[] {
  const found: Prose[] = []
  /** The starts of open parentheses, to recognize `it.each(table)('name'`. */
  const open: number[] = []
  let closedCall = -1
  let at = 0
  while (at < source.length) {
    const start = at
    const char = source[at] as string
    if (source.startsWith('//', at)) {
      at = endOfLine(source, at)
      addLineComment(found, source, start, at)
    } else if (source.startsWith('/*', at)) {
      const close = source.indexOf('*/', at + 2)
      at = close === -1 ? source.length : close + 2
      const text = source
        .slice(start, at)
        .replace(/^\/\*+|\*+\/$/g, '')
        .replace(/^[ \t]*\*(?: |$)?/gm, '')
      found.push({ kind: 'comment', text: text.trim(), start, end: at })
    } else if (char === "'" || char === '"' || char === '`') {
      const end = char === '`' ? endOfTemplate(source, at) : endOfString(source, at)
      at = end ?? at + 1
      if (end === undefined) continue
      const before = source.slice(Math.max(0, start - 120), start).trimEnd()
      const isName = beforeTestName.test(before) || (closedCall >= 0 && isEachName(source, closedCall, start))
      found.push({ kind: isName ? 'test name' : 'string', text: source.slice(start + 1, at - 1), start, end: at })
    } else if (char === '/' && beforeRegex.test(source.slice(Math.max(0, start - 40), start))) {
      at = endOfRegex(source, at) ?? at + 1
    } else {
      if (char === '(') open.push(start)
      if (char === ')') {
        const began = open.pop() ?? -1
        closedCall = /\.(?:each|for|runIf|skipIf)(?:<[^()]*>)?$/.test(source.slice(Math.max(0, began - 80), began))
          ? start
          : closedCall
      }
      at += 1
    }
  }
  return found
}

function isEachName(source: string, closedCall: number, start: number): boolean {
  const between = source.slice(closedCall + 1, start)
  return between.startsWith('(') && beforeEachName.test(between.slice(1))
}

function addLineComment(found: Prose[], source: string, start: number, end: number): void {
  const text = source.slice(start + 2, end).trim()
  const last = found.at(-1)
  const isNext =
    last?.kind === 'comment' && source.startsWith('//', last.start) && isOnlyIndent(source, last.end, start)
  if (last && isNext && isFirstInLine(source, last.start)) {
    last.text += `\n${text}`
    last.end = end
  } else {
    found.push({ kind: 'comment', text, start, end })
  }
}

function isOnlyIndent(source: string, from: number, to: number): boolean {
  return /^\r?\n[ \t]*$/.test(source.slice(from, to))
}

function isFirstInLine(source: string, at: number): boolean {
  return /^[ \t]*$/.test(source.slice(source.lastIndexOf('\n', at - 1) + 1, at))
}

function endOfLine(source: string, at: number): number {
  const end = source.indexOf('\n', at)
  return end === -1 ? source.length : end
}

function endOfString(source: string, start: number): number | undefined {
  for (let at = start + 1; at < source.length && source[at] !== '\n'; at += 1) {
    if (source[at] === '\\') at += 1
    else if (source[at] === source[start]) return at + 1
  }
  return undefined
}

function endOfTemplate(source: string, start: number): number | undefined {
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1
    else if (source[at] === '`') return at + 1
    else if (source.startsWith('${', at)) at = endOfHole(source, at + 2)
  }
  return undefined
}

/** The closing brace of `${…}`. */
function endOfHole(source: string, start: number): number {
  let depth = 1
  for (let at = start; at < source.length; at += 1) {
    const char = source[at]
    if (char === '`') at = (endOfTemplate(source, at) ?? at + 1) - 1
    else if (char === "'" || char === '"') at = (endOfString(source, at) ?? at + 1) - 1
    else if (char === '{') depth += 1
    else if (char === '}') depth -= 1
    if (depth === 0) return at
  }
  return source.length
}

function endOfRegex(source: string, start: number): number | undefined {
  let inClass = false
  for (let at = start + 1; at < source.length && source[at] !== '\n'; at += 1) {
    const char = source[at]
    if (char === '\\') at += 1
    else if (char === '[') inClass = true
    else if (char === ']') inClass = false
    else if (char === '/' && !inClass) return at + 1
  }
  return undefined
}
