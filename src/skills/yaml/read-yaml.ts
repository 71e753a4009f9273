import { indentOf, readBlockHeader, readBlockScalar } from './block-scalar.ts'
import { deepest, readFlow } from './flow-value.ts'
import { readQuoted } from './quoted-scalar.ts'
import { YamlProblem, type YamlValue } from './yaml-value.ts'

export type YamlReading = { ok: true; value: YamlValue } | { ok: false; line: number; problem: string }

/**
 * The YAML that people write above a text: maps, lists, scalars of every kind, flow collections and JSON. What has no place
 * there (anchors, aliases, tags) is refused, so nothing grows when it is read and nothing is ever run. More is taken than
 * the standard allows where it can only mean one thing: `description: Use it so: like this`. Never throws.
 */
export function readYaml(text: string): YamlReading {
  try {
    return { ok: true, value: new YamlReader(text).read() }
  } catch (cause) {
    if (!(cause instanceof YamlProblem)) throw cause
    return { ok: false, line: cause.line, problem: cause.message }
  }
}

const listItem = /^-(?:[ \t]+|$)/
const comment = /(?:^|[ \t])#.*$/
const reference = /^(?:&|![^\s]*|\*[\w-]+\s*$)/

class YamlReader {
  readonly #text: string
  readonly #lines: string[]
  /** Where each line begins in the text. */
  readonly #starts: number[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#lines = text.split('\n')
    let start = 0
    for (const line of this.#lines) {
      this.#starts.push(start)
      start += line.length + 1
    }
  }

  read(): YamlValue {
    const indent = this.#nextIndent()
    if (indent === undefined) return {}
    const value = this.#readNode(indent, -1, 0)
    if (this.#nextIndent() !== undefined) throw this.#problem('does not belong to what stands above it')
    return value
  }

  /** How far the next line is indented that says something; stands there afterwards. */
  #nextIndent(): number | undefined {
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#line()
      if (line.trim() === '' || line.trimStart().startsWith('#')) continue
      const indent = indentOf(line)
      if (line.slice(0, indent).includes('\t')) throw this.#problem('is indented with a tab')
      return indent
    }
    return undefined
  }

  #readNode(indent: number, outer: number, depth: number): YamlValue {
    if (depth > deepest) throw this.#problem('is nested too deeply')
    const content = this.#line().slice(indent)
    if (listItem.test(content)) return this.#readList(indent, depth)
    if (this.#readKey(indent)) return this.#readMap(indent, depth)
    return this.#readValue(indent, outer, depth)
  }

  #readMap(indent: number, depth: number): YamlValue {
    const entries = new Map<string, YamlValue>()
    while (this.#nextIndent() === indent) {
      const key = this.#readKey(indent)
      if (!key) throw this.#problem('has no key')
      if (entries.has(key.name)) throw this.#problem(`has the key ${JSON.stringify(key.name)} again`)
      entries.set(key.name, this.#readValue(key.end, indent, depth))
    }
    return Object.fromEntries(entries)
  }

  #readList(indent: number, depth: number): YamlValue {
    const items: YamlValue[] = []
    while (this.#nextIndent() === indent) {
      const mark = listItem.exec(this.#line().slice(indent))?.[0]
      if (mark === undefined) break
      const column = indent + mark.length
      const content = this.#line().slice(column)
      if (content === '' || content.startsWith('#')) items.push(this.#readBelow(indent, depth, { isItem: true }))
      else {
        // A map or list may begin on the line of its item: the mark counts as the space that it takes.
        this.#lines[this.#at] = ' '.repeat(column) + content
        items.push(this.#readNode(column, indent, depth + 1))
      }
    }
    return items
  }

  /** The key that begins at the column, and the column of its value. */
  #readKey(column: number): { name: string; end: number } | undefined {
    const line = this.#line()
    const first = line[column] ?? ''
    if (first === '"' || first === "'") {
      const quoted = readQuoted(line, column)
      const colon = quoted && /^[ \t]*:(?:[ \t]+|$)/.exec(line.slice(quoted.end))?.[0]
      return quoted && colon !== undefined ? { name: quoted.value, end: quoted.end + colon.length } : undefined
    }
    if (first === '{' || first === '[' || first === '#') return undefined
    const content = line.slice(column)
    const colon = /:(?:[ \t]+|$)/.exec(content)
    const name = colon ? content.slice(0, colon.index).trimEnd() : ''
    return colon && name !== '' ? { name, end: column + colon.index + colon[0].length } : undefined
  }

  /** The value that begins at the column of this line, or below it, of what is indented by `outer`. */
  #readValue(column: number, outer: number, depth: number): YamlValue {
    const rest = this.#line().slice(column).trimEnd()
    if (rest === '' || rest.startsWith('#')) return this.#readBelow(outer, depth)
    const header = readBlockHeader(rest)
    if (header) {
      const { value, end } = readBlockScalar(this.#lines, { start: this.#at + 1, outer, header })
      this.#at = end
      return value
    }
    if (/^["'[{]/.test(rest)) return this.#readMarked(column, outer, rest)
    if (reference.test(rest)) throw this.#problem('has an anchor, an alias or a tag, which are not read')
    return this.#readPlain(rest, outer)
  }

  /** A list of a key may stand no further in than the key; one of an item does. */
  #readBelow(outer: number, depth: number, { isItem } = { isItem: false }): YamlValue {
    this.#at += 1
    const indent = this.#nextIndent()
    if (indent === undefined) return ''
    if (indent > outer) return this.#readNode(indent, outer, depth + 1)
    const isListOfKey = !isItem && indent === outer && listItem.test(this.#line().slice(indent))
    return isListOfKey ? this.#readList(indent, depth + 1) : ''
  }

  /** Quoted or in brackets, to its end. What has text behind its end on the same line was never meant so. */
  #readMarked(column: number, outer: number, rest: string): YamlValue {
    const start = (this.#starts[this.#at] ?? 0) + column
    const isQuoted = rest[0] === '"' || rest[0] === "'"
    const read = isQuoted ? readQuoted(this.#text, start) : readFlow(this.#text, start)
    if (!read) {
      if (isQuoted || !/[\]}][ \t]+[^\s\]},#]/.test(rest)) throw this.#problem(`begins with ${rest[0]} and has no end`)
      return this.#readPlain(rest, outer)
    }
    const ends = this.#text.slice(start, read.end).split('\n').length - 1
    const lineEnd = this.#text.indexOf('\n', read.end)
    const behind = this.#text
      .slice(read.end, lineEnd < 0 ? undefined : lineEnd)
      .replace(comment, '')
      .trim()
    if (behind !== '') {
      if (ends === 0) return this.#readPlain(rest, outer)
      throw this.#problem(`has ${JSON.stringify(behind.slice(0, 40))} behind its end`)
    }
    this.#at += ends + 1
    return read.value
  }

  /** To the end of the line, and on through all lines that stand further in than its key. */
  #readPlain(rest: string, outer: number): string {
    let text = rest.replace(comment, '').trim()
    let empty = 0
    for (this.#at += 1; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#line()
      if (line.trim() === '') {
        empty += 1
        continue
      }
      if (indentOf(line) <= outer || line.trimStart().startsWith('#')) break
      text += (empty === 0 ? ' ' : '\n'.repeat(empty)) + line.replace(comment, '').trim()
      empty = 0
    }
    return text
  }

  #line(): string {
    return this.#lines[this.#at] ?? ''
  }

  #problem(what: string): YamlProblem {
    return new YamlProblem(this.#at + 1, what)
  }
}
