import { parse, TomlError } from 'smol-toml'
import type { z } from 'zod'
import type { ConfigProblem } from './config-problem.ts'
import { describeIssue, foundValue } from './describe-issue.ts'
import { adviseOnKey } from './known-keys.ts'
import { indexToml, type TomlIndex, type TomlPath } from './toml-index.ts'

export type CheckedToml<T> =
  | { ok: true; value: T; index: TomlIndex }
  /** `sound` is what remains when the keys with problems are left out, to check the rest against; never to run with. */
  | { ok: false; problems: ConfigProblem[]; sound: T | undefined; index: TomlIndex | undefined }

/** One TOML text against its schema: the value, or every problem with its line. Never throws. */
export function checkToml<T>(source: {
  file: string
  text: string
  schema: z.ZodType<T>
  /** What to say of a key that is refused on purpose. */
  advice?: Readonly<Record<string, string>>
}): CheckedToml<T> {
  const { file, text, schema } = source
  let document: Record<string, unknown>
  try {
    document = parse(text)
  } catch (cause) {
    return { ok: false, problems: [syntaxProblem(file, cause)], sound: undefined, index: undefined }
  }
  const index = indexToml(text)
  const checked = schema.safeParse(document, { error: describeIssue })
  if (checked.success) return { ok: true, value: checked.data, index }

  const problems = checked.error.issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') {
      const path = heldPath(document, issue.path)
      const found =
        issue.code === 'custom' || issue.code === 'invalid_key' ? '' : foundValue(path, valueAt(document, path))
      return [{ file, line: index.lineOf(path), key: dottedKey(path), message: `${issue.message}${found}` }]
    }
    return issue.keys.map((key) => {
      const path = [...issue.path, key]
      const message = source.advice?.[key] ?? adviseOnKey(schema, issue.path, key)
      return { file, line: index.lineOf(path), key: dottedKey(path), message }
    })
  })

  const mistaken = checked.error.issues.flatMap((issue) =>
    'keys' in issue ? issue.keys.map((key) => [...issue.path, key]) : [issue.path],
  )
  return { ok: false, problems, sound: schema.safeParse(without(document, mistaken)).data, index }
}

/** A copy that lacks these keys, and the whole of a list that one of them stands in. */
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
  // The parser's message goes on with the lines around it, which may hold a secret.
  const message = (cause.message.split('\n')[0] ?? '').replace('Invalid TOML document: ', 'not TOML: ')
  return { file, line: cause.line, column: cause.column, key: '', message }
}

/** `routes.primary[1]`, quoted where TOML would need it. */
export function dottedKey(path: TomlPath): string {
  return path.reduce<string>((key, part) => {
    if (typeof part === 'number') return `${key}[${part}]`
    const name = /^[A-Za-z0-9_-]+$/.test(String(part)) ? String(part) : JSON.stringify(part)
    return key === '' ? name : `${key}.${name}`
  }, '')
}

/** A place inside a value that the schema reshaped (one model where a list may stand) is the value's own place. */
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
