import { parse, stringify } from 'smol-toml'
import { canonicalJson } from '../../base/json.ts'
import { indexToml } from './toml-index.ts'

export type TomlValue = string | number | boolean | string[] | number[]

/**
 * The document with one value set, everything else (comments, order, spacing) as it was. Undefined where that cannot be
 * done for sure: each way of writing it is tried and read back, and must change nothing but the value asked for.
 */
export function setTomlValue(text: string, path: readonly string[], value: TomlValue): string | undefined {
  const wanted = canonicalJson(withValue(parse(text), path, value))
  return candidates(text, path, value).find((candidate) => {
    try {
      return canonicalJson(parse(candidate)) === wanted
    } catch {
      return false
    }
  })
}

function candidates(text: string, path: readonly string[], value: TomlValue): string[] {
  const index = indexToml(text)
  const table = path.slice(0, -1)
  const key = path.slice(-1).map(writeKey).join()
  const written = writeValue(value)
  const found: string[] = []

  const existing = index.find(path)?.value
  if (existing) found.push(splice(text, existing.start, existing.end, written))

  const parent = index.find(table)
  if (parent?.headerEnd !== undefined) {
    const newline = text[parent.headerEnd - 1] === '\n' ? '' : '\n'
    found.push(splice(text, parent.headerEnd, parent.headerEnd, `${newline}${key} = ${written}\n`))
  }
  if (parent?.value) {
    const inside = parent.value.start + 1
    found.push(splice(text, inside, inside, ` ${key} = ${written},`))
    found.push(splice(text, parent.value.start, parent.value.end, `{ ${key} = ${written} }`))
  }

  const bom = text.startsWith('\ufeff') ? 1 : 0
  const dotted = `${path.map(writeKey).join('.')} = ${written}\n`
  const appended = `${text.trimEnd()}${text.trim() === '' ? '' : '\n\n'}[${table.map(writeKey).join('.')}]\n${key} = ${written}\n`
  if (table.length > 0) found.push(appended)
  found.push(splice(text, bom, bom, dotted))
  return found
}

function writeKey(part: string): string {
  return /^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part)
}

function writeValue(value: TomlValue): string {
  return stringify({ value })
    .replace(/^value = /, '')
    .trimEnd()
}

function splice(text: string, start: number, end: number, middle: string): string {
  return text.slice(0, start) + middle + text.slice(end)
}

function withValue(document: Record<string, unknown>, path: readonly string[], value: TomlValue): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  const inner = document[key]
  const below = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? { ...inner } : {}
  return { ...document, [key]: rest.length === 0 ? value : withValue(below, rest, value) }
}
