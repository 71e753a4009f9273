import { parse, stringify, TomlError } from 'smol-toml'
import { z } from 'zod'
import { canonicalJson } from '../../base/json.ts'
import { truncateText } from '../../base/text.ts'
import type { ConfigProblem } from './config.ts'

export type TomlValue = string | number | boolean | string[] | number[]

/**
 * Sets one value and keeps everything else (comments, order, spacing). Undefined if that cannot be done safely: each
 * variant is tried and parsed again, and must change only the requested value.
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

/** Removes one key, with its line, and keeps everything else. Undefined if that cannot be done safely. */
export function removeTomlValue(text: string, path: readonly string[]): string | undefined {
  const document = parse(text)
  const wanted = canonicalJson(withoutValue(document, path))
  if (wanted === canonicalJson(document)) return text
  const value = indexToml(text).find(path)?.value
  if (!value) return undefined
  const start = text.lastIndexOf('\n', value.start) + 1
  const end = text.indexOf('\n', value.end)
  const edited = splice(text, start, end === -1 ? text.length : end + 1, '')
  try {
    return canonicalJson(parse(edited)) === wanted ? edited : undefined
  } catch {
    return undefined
  }
}

function withoutValue(document: Record<string, unknown>, path: readonly string[]): Record<string, unknown> {
  const [key = '', ...rest] = path
  const { [key]: inner, ...others } = document
  if (rest.length === 0 || typeof inner !== 'object' || inner === null || Array.isArray(inner)) {
    return rest.length === 0 ? others : document
  }
  return { ...document, [key]: withoutValue(inner as Record<string, unknown>, rest) }
}

function candidates(text: string, path: readonly string[], value: TomlValue): string[] {
  const index = indexToml(text)
  const table = path.slice(0, -1)
  const key = path.slice(-1).map(writeKey).join()
  const written = stringify({ value })
    .replace(/^value = /, '')
    .trimEnd()
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

function writeKey(part: PropertyKey): string {
  return /^[A-Za-z0-9_-]+$/.test(String(part)) ? String(part) : JSON.stringify(part)
}

function splice(text: string, start: number, end: number, middle: string): string {
  return text.slice(0, start) + middle + text.slice(end)
}

function withValue(document: Record<string, unknown>, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  const inner = document[key]
  const below = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? { ...inner } : {}
  return { ...document, [key]: rest.length === 0 ? value : withValue(below, rest, value) }
}

const kinds: Record<string, string> = {
  string: 'text in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
}

/** zod's messages in the terms of a config file. A message in the schema takes precedence. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined) {
    return issue.code === 'invalid_value' ? `is missing; must be ${oneOf(issue.values)}` : 'is missing'
  }
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}`
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty'
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'string') return `must have at most ${issue.maximum} characters`
      return `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
    case 'invalid_key':
      return issue.issues[0]?.message
    default:
      return undefined
  }
}

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? String(values[0]) : `one of ${values.join(', ')}`
}

/** ` (found "lots")`; empty for a value that may be a secret: problems are printed and logged. */
function foundValue(path: TomlPath, value: unknown): string {
  if (typeof value === 'string') {
    if (/(?:key|token|secret|password|url)(?:_env)?$/i.test(String(path.at(-1)))) return ''
    return ` (found ${JSON.stringify(truncateText(value, 40))})`
  }
  if (typeof value === 'number' || typeof value === 'boolean') return ` (found ${value})`
  if (Array.isArray(value)) return ' (found a list)'
  if (value instanceof Date) return ' (found a date)'
  if (typeof value === 'object' && value !== null) return ' (found a table)'
  return ''
}

/** The known name that a mistyped one most likely means; undefined if none is close. */
export function nearestName(typed: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined
  // A third of the letters may be wrong: `prot` means `port`, `shape` does not mean `share_price`.
  let smallest = Math.max(1, Math.floor(typed.length / 3)) + 1
  for (const name of known) {
    const distance = editDistance(plain(typed), plain(name))
    if (distance < smallest) {
      smallest = distance
      nearest = name
    }
  }
  return nearest
}

const plain = (name: string) => name.toLowerCase().replaceAll('-', '_')

/** The number of insertions, deletions, replacements and swaps of neighbors between two texts. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}

/** The advice for an unknown key: the key that was probably meant, or the existing ones. */
function adviseOnKey(schema: z.ZodType, table: TomlPath, key: string): string {
  const siblings = keysAt(schema, table)
  const near = nearestName(key, siblings)
  if (near !== undefined) return `is not a known key; did you mean ${near}?`
  const elsewhere = allPaths(schema).find((path) => path.length > 1 && path.at(-1) === key)
  if (elsewhere) return `is not a known key here; it belongs in [${elsewhere.slice(0, -1).join('.')}]`
  return `is not a known key; known here: ${siblings.join(', ')}`
}

function keysAt(schema: z.ZodType, path: TomlPath): string[] {
  let level: z.ZodType | undefined = unwrap(schema)
  for (const part of path) {
    if (level instanceof z.ZodObject) level = level.shape[String(part)]
    else if (level instanceof z.ZodRecord) level = level.valueType as z.ZodType
    else if (level instanceof z.ZodArray) level = level.element as z.ZodType
    level = level && unwrap(level)
  }
  return level instanceof z.ZodObject ? Object.keys(level.shape) : []
}

function allPaths(schema: z.ZodType, path: readonly string[] = []): string[][] {
  const level = unwrap(schema)
  if (!(level instanceof z.ZodObject)) return [[...path]]
  return Object.entries(level.shape).flatMap(([key, inner]) => allPaths(inner as z.ZodType, [...path, key]))
}

/** The schema without its defaults. */
function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return unwrap(schema.unwrap() as z.ZodType)
  return schema
}

export type TomlPath = readonly PropertyKey[]

interface TomlEntry {
  /** Counted from 1, as editors do. */
  line: number
  /** Offsets of the value's text; undefined for a table with a header or without its own entry. */
  value: { start: number; end: number } | undefined
  /** Offset of the end of the header's line; only for a table with a header. */
  headerEnd: number | undefined
}

type TomlIndex = ReturnType<typeof indexToml>

/** Takes keys by their current names, and finds them by the names in the text. */
export interface WrittenIndex extends TomlIndex {
  /** As the text names it. */
  keyOf(path: TomlPath): string
}

/**
 * The position of each key of a TOML document. The parser keeps no positions, so this reads the text a second time. The
 * text must be valid: this does not check it.
 */
export function indexToml(text: string) {
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
    // A child is seen before its list ends, and `[a.b]` may come before `[a]`: the key itself is the better place to
    // name.
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
    const newline = text.indexOf('\n', at)
    record(table, { line, value: undefined, headerEnd: newline === -1 ? text.length : newline + 1 })
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
    if (first === '[') walkInside(']', (index) => walkValue([...path, index], lineAt(at)))
    else if (first === '{') walkInside('}', () => walkPair(path))
    else if (take(stringToken) === undefined) at = start + (take(scalar)?.trimEnd().length ?? 0)
    record(path, { line, value: { start, end: at }, headerEnd: undefined })
  }

  /** A list or an inline table: every item up to the closing bracket. */
  function walkInside(end: string, walkItem: (index: number) => void) {
    at += 1
    for (let index = 0; at < text.length; index += 1) {
      take(betweenValues)
      if (text[at] === end) break
      walkItem(index)
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
    find: (path: TomlPath) => entries.get(JSON.stringify(path)),
    /** The line of the key or, if it is missing, of its nearest parent; 1 for none. */
    lineOf(path: TomlPath) {
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

/** `a."b.c"` → a, b.c. The parser handles quotes and escapes. */
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

/** Converts increasing offsets to lines without counting from the start each time. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1
  let counted = 0
  return (offset) => {
    for (; counted < offset; counted += 1) if (text[counted] === '\n') line += 1
    return line
  }
}

/** A key that has another name now. The old one is still read, everywhere where the new one is. */
export interface RenamedKey {
  old: readonly string[]
  now: readonly string[]
}

/** The path under its other name, if it is at or below the key. */
function renamePath<Part extends PropertyKey>(
  path: readonly Part[],
  from: readonly string[],
  to: readonly string[],
): (Part | string)[] | undefined {
  return from.every((part, at) => path[at] === part) ? [...to, ...path.slice(from.length)] : undefined
}

/** A key as the schema names it, from whichever name someone typed. */
export function currentPath(path: readonly string[], renamed: readonly RenamedKey[]): string[] {
  return renamed.map(({ old, now }) => renamePath(path, old, now)).find((found) => found !== undefined) ?? [...path]
}

/** The same key as this text names it: by the old name where the text has that one and not the new one. */
export function pathIn(text: string, path: readonly string[], renamed: readonly RenamedKey[]): string[] {
  const current = currentPath(path, renamed)
  // The index needs valid text.
  parse(text)
  const { find } = indexToml(text)
  for (const { old, now } of renamed) {
    const earlier = renamePath(current, now, old)
    if (earlier && find(old) && !find(now)) return earlier
  }
  return current
}

/** The document with the current names; both names of one key are a problem, because neither overrides the other. */
function withCurrentNames(
  document: Record<string, unknown>,
  index: TomlIndex,
  { file, renamed }: { file: string; renamed: readonly RenamedKey[] },
) {
  const problems: ConfigProblem[] = []
  const used: RenamedKey[] = []
  let value = document
  for (const key of renamed) {
    const { old, now } = key
    const given = valueAt(value, old)
    if (given === undefined) continue
    value = withoutValue(value, old)
    if (valueAt(value, now) === undefined) {
      value = withValue(value, now, given) as Record<string, unknown>
      used.push(key)
    } else {
      const [line, other] = [index.lineOf(old), index.lineOf(now)]
      const message = `is the old name of ${dottedKey(now)}, which is in line ${other} too; move everything there`
      problems.push({ file, line, key: dottedKey(old), message })
    }
  }
  const toWritten = (path: TomlPath): TomlPath =>
    used.map(({ old, now }) => renamePath(path, now, old)).find((found) => found !== undefined) ?? path
  const warnings = used.map(
    ({ old, now }) =>
      `${file}:${index.lineOf(old)}: ${dottedKey(old)} is deprecated; its name is ${dottedKey(now)} now`,
  )
  return { value, problems, warnings, toWritten }
}

/**
 * Checks one TOML text against its schema: the value, or every problem with its line. Never throws. With problems, the
 * value is the rest without the invalid keys, for further checks; never to run with.
 */
export function checkToml<T>(source: {
  file: string
  text: string
  schema: z.ZodType<T>
  /** The advice for a key that is rejected on purpose. */
  advice?: Readonly<Record<string, string>>
  renamed?: readonly RenamedKey[]
}): { value: T | undefined; problems: ConfigProblem[]; warnings: string[]; index: WrittenIndex } {
  const { file, text, schema, renamed = [] } = source
  let document: Record<string, unknown>
  try {
    document = parse(text)
  } catch (cause) {
    const index = { ...indexToml(''), keyOf: dottedKey }
    return { value: undefined, problems: [syntaxProblem(file, cause)], warnings: [], index }
  }
  const positions = indexToml(text)
  const current = withCurrentNames(document, positions, { file, renamed })
  const { warnings, toWritten } = current
  document = current.value
  const index: WrittenIndex = {
    find: (path) => positions.find(toWritten(path)),
    lineOf: (path) => positions.lineOf(toWritten(path)),
    keyOf: (path) => dottedKey(toWritten(path)),
  }
  const checked = schema.safeParse(document, { error: describeIssue })
  if (checked.success) return { value: checked.data, problems: current.problems, warnings, index }

  const mistaken: TomlPath[] = []
  const problems = checked.error.issues.flatMap((issue) => {
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
    mistaken.push(...paths)
    return paths.map((named) => {
      const path = heldPath(document, named)
      return { file, line: index.lineOf(path), key: index.keyOf(path), message: messageOf(issue, path) }
    })
  })

  function messageOf(issue: z.core.$ZodIssue, path: TomlPath): string {
    const key = String(path.at(-1))
    if (issue.code === 'unrecognized_keys') return source.advice?.[key] ?? adviseOnKey(schema, issue.path, key)
    if (issue.code === 'custom' || issue.code === 'invalid_key') return issue.message
    return `${issue.message}${foundValue(path, valueAt(document, path))}`
  }

  const value = schema.safeParse(without(document, mistaken)).data
  return { value, problems: [...current.problems, ...problems], warnings, index }
}

/** A copy without these keys, and without any list that contains one of them. */
function without(document: Record<string, unknown>, paths: readonly TomlPath[]): unknown {
  const copy = structuredClone(document)
  for (const path of paths) {
    const listAt = path.findIndex((part) => typeof part === 'number')
    const held = listAt === -1 ? path : path.slice(0, listAt)
    const parent = valueAt(copy, held.slice(0, -1))
    const key = held.at(-1)
    if (typeof parent === 'object' && parent !== null && key !== undefined) Reflect.deleteProperty(parent, key)
  }
  return copy
}

function syntaxProblem(file: string, cause: unknown): ConfigProblem {
  if (!(cause instanceof TomlError)) throw cause
  // The parser's message continues with the surrounding lines, which may contain a secret.
  const message = (cause.message.split('\n')[0] ?? '').replace('Invalid TOML document: ', 'not TOML: ')
  return { file, line: cause.line, column: cause.column, key: '', message }
}

/** `routes.primary[1]`, quoted where TOML requires it. */
export function dottedKey(path: TomlPath): string {
  return path.reduce<string>((key, part) => {
    if (typeof part === 'number') return `${key}[${part}]`
    return key === '' ? writeKey(part) : `${key}.${writeKey(part)}`
  }, '')
}

/** A position inside a value that the schema reshaped (one model instead of a list) is the value's own position. */
function heldPath(document: unknown, path: TomlPath): TomlPath {
  const parent = valueAt(document, path.slice(0, -1))
  return path.length > 1 && typeof parent !== 'object' ? path.slice(0, -1) : path
}

function valueAt(document: unknown, path: TomlPath): unknown {
  return path.reduce<unknown>((level, part) => {
    if (typeof level !== 'object' || level === null || !Object.hasOwn(level, part)) return undefined
    return (level as Record<PropertyKey, unknown>)[part]
  }, document)
}
