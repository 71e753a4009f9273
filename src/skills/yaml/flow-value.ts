import { readQuoted } from './quoted-scalar.ts'
import type { YamlValue } from './yaml-value.ts'

interface Read<T> {
  value: T
  end: number
}

/** Deeper than any front matter has a use for. */
export const deepest = 24
const blank = /(?:[ \t\n]|(?<=^|[ \t\n])#[^\n]*)*/y
const plain = /(?:[^,[\]{}:#]|:(?![ \t\n,[\]{}]|$)|(?<![ \t\n])#)+/y

/** `{…}` or `[…]`, JSON among them, from `start` on and over as many lines as it takes. Undefined where it is none. */
export function readFlow(text: string, start: number, depth = 0): Read<YamlValue> | undefined {
  if (depth > deepest) return undefined
  const open = text[start]
  if (open === '{') return readMap(text, start, depth)
  if (open === '[') return readList(text, start, depth)
  if (open === '"' || open === "'") return readQuoted(text, start)
  return readPlain(text, start)
}

function readMap(text: string, start: number, depth: number): Read<YamlValue> | undefined {
  const entries = new Map<string, YamlValue>()
  for (let at = skip(text, start + 1); at < text.length; ) {
    if (text[at] === '}') return { value: Object.fromEntries(entries), end: at + 1 }
    const key = text[at] === '{' || text[at] === '[' ? undefined : readFlow(text, at, depth + 1)
    if (typeof key?.value !== 'string' || entries.has(key.value)) return undefined
    at = skip(text, key.end)
    let value: YamlValue = ''
    if (text[at] === ':') {
      at = skip(text, at + 1)
      const read = isEnd(text[at]) ? { value: '', end: at } : readFlow(text, at, depth + 1)
      if (!read) return undefined
      value = read.value
      at = skip(text, read.end)
    }
    entries.set(key.value, value)
    if (text[at] === ',') at = skip(text, at + 1)
    else if (text[at] !== '}') return undefined
  }
  return undefined
}

function readList(text: string, start: number, depth: number): Read<YamlValue> | undefined {
  const items: YamlValue[] = []
  for (let at = skip(text, start + 1); at < text.length; ) {
    if (text[at] === ']') return { value: items, end: at + 1 }
    const read = readFlow(text, at, depth + 1)
    if (!read) return undefined
    items.push(read.value)
    at = skip(text, read.end)
    if (text[at] === ',') at = skip(text, at + 1)
    else if (text[at] !== ']') return undefined
  }
  return undefined
}

function readPlain(text: string, start: number): Read<string> | undefined {
  plain.lastIndex = start
  const found = plain.exec(text)?.[0]
  if (found === undefined) return undefined
  const lines = found.split('\n').map((line) => line.trim())
  return { value: lines.join(' ').trim(), end: start + found.length }
}

function skip(text: string, at: number): number {
  blank.lastIndex = at
  return at + (blank.exec(text)?.[0].length ?? 0)
}

function isEnd(character: string | undefined): boolean {
  return character === ',' || character === '}' || character === ']'
}
