import { parse } from 'smol-toml'

export type TomlPath = readonly PropertyKey[]

interface TomlEntry {
  /** Counted from 1, as editors do. */
  line: number
  /** Offsets of the value's text; undefined for a table that has a header or exists only through its children. */
  value: { start: number; end: number } | undefined
  /** Offset of the end of the header's line; undefined for everything but a table with a header. */
  headerEnd: number | undefined
}

export interface TomlIndex {
  find(path: TomlPath): TomlEntry | undefined
  /** The line of the key itself or, where the document does not hold it, of its nearest parent; 1 for none. */
  lineOf(path: TomlPath): number
}

/**
 * Where each key of a TOML document stands. The parser keeps no places, so this walks the text a second time.
 * Hand in only text that `parse` has accepted: this does not look for mistakes.
 */
export function indexToml(text: string): TomlIndex {
  const entries = new Map<string, TomlEntry>()
  const arrayLengths = new Map<string, number>()
  const lineAt = lineCounter(text)
  let at = text.startsWith('\ufeff') ? 1 : 0
  let table: PropertyKey[] = []

  function record(path: TomlPath, entry: TomlEntry) {
    for (let depth = 1; depth < path.length; depth += 1) {
      const parent = JSON.stringify(path.slice(0, depth))
      if (!entries.has(parent)) entries.set(parent, { line: entry.line, value: undefined, headerEnd: undefined })
    }
    const known = entries.get(JSON.stringify(path))
    // A child is seen before its list ends and `[a.b]` may come before `[a]`: the key itself is the better place to name.
    const isImplied = known?.value === undefined && known?.headerEnd === undefined
    if (isImplied) entries.set(JSON.stringify(path), entry)
  }

  /** Matches at the cursor and moves past it. */
  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }

  function takeKey(end: string): string[] {
    const start = at
    while (at < text.length && text[at] !== end) if (take(stringToken) === undefined) at += 1
    const key = text.slice(start, at)
    at += 1
    return keyParts(key)
  }

  function walkHeader() {
    const line = lineAt(at)
    const isArray = text.startsWith('[[', at)
    at += isArray ? 2 : 1
    const parts = takeKey(']')
    if (isArray) at += 1
    table = []
    for (const [depth, part] of parts.entries()) {
      table.push(part)
      const isLast = depth === parts.length - 1
      const length = arrayLengths.get(JSON.stringify(table))
      if (isLast && isArray) {
        const index = length ?? 0
        arrayLengths.set(JSON.stringify(table), index + 1)
        table.push(index)
      } else if (length !== undefined) table.push(length - 1)
    }
    record(table, { line, value: undefined, headerEnd: lineEnd(text, at) })
  }

  function walkPair(parent: TomlPath) {
    const line = lineAt(at)
    const path = [...parent, ...takeKey('=')]
    take(blanks)
    walkValue(path, line)
  }

  function walkValue(path: TomlPath, line: number) {
    const start = at
    const first = text[at]
    if (first === '[') walkList(path)
    else if (first === '{') walkInlineTable(path)
    else if (take(stringToken) === undefined) at = start + (take(scalar)?.trimEnd().length ?? 0)
    record(path, { line, value: { start, end: at }, headerEnd: undefined })
  }

  function walkList(path: TomlPath) {
    at += 1
    for (let index = 0; at < text.length; index += 1) {
      take(betweenValues)
      if (text[at] === ']') break
      walkValue([...path, index], lineAt(at))
    }
    at += 1
  }

  function walkInlineTable(path: TomlPath) {
    at += 1
    while (at < text.length) {
      take(betweenValues)
      if (text[at] === '}') break
      walkPair(path)
    }
    at += 1
  }

  take(blanksAndComments)
  while (at < text.length) {
    if (text[at] === '[') walkHeader()
    else walkPair(table)
    take(blanksAndComments)
  }

  return {
    find: (path) => entries.get(JSON.stringify(path)),
    lineOf(path) {
      for (let depth = path.length; depth > 0; depth -= 1) {
        const entry = entries.get(JSON.stringify(path.slice(0, depth)))
        if (entry) return entry.line
      }
      return 1
    },
  }
}

const stringToken = /"""(?:\\[\s\S]|[^\\])*?""""{0,2}|'''[\s\S]*?''''{0,2}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y
const scalar = /[^,\]}#\r\n]+/y
const blanks = /[ \t]*/y
const blanksAndComments = /(?:[ \t\r\n]+|#[^\n]*)*/y
const betweenValues = /(?:[ \t\r\n,]+|#[^\n]*)*/y

/** `a."b.c"` → a, b.c. The parser itself reads quotes and escapes. */
function keyParts(key: string): string[] {
  const parts: string[] = []
  let level: unknown = parse(`${key}=0`)
  while (typeof level === 'object' && level !== null) {
    const [name, inner] = Object.entries(level)[0] ?? []
    if (name === undefined) break
    parts.push(name)
    level = inner
  }
  return parts
}

function lineEnd(text: string, from: number): number {
  const newline = text.indexOf('\n', from)
  return newline === -1 ? text.length : newline + 1
}

/** Answers growing offsets without counting from the start each time. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1
  let counted = 0
  return (offset) => {
    for (; counted < offset; counted += 1) if (text[counted] === '\n') line += 1
    return line
  }
}
