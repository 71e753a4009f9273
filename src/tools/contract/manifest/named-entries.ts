import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/**
 * What the contract calls an object by name and some write as a list of entries with a `name` or `key`: one by one,
 * each checked. Issues carry the place where the entry is written.
 */
export function readNamedEntries<T>(options: {
  written: Record<string, unknown> | readonly unknown[]
  schema: z.ZodType<T>
  /** Where it stands in the manifest. */
  section: string
  nameKeys: readonly string[]
  isName: RegExp
}): { entries: { name: string; value: T }[]; issues: Issue[] } {
  const { written, schema, section, nameKeys, isName } = options
  const entries: { name: string; value: T }[] = []
  const issues: Issue[] = []
  const places: { path: PropertyKey[]; name: unknown; value: unknown }[] = Array.isArray(written)
    ? written.map((value, index) => ({ path: [section, index], name: nameIn(value, nameKeys), value }))
    : Object.entries(written).map(([name, value]) => ({ path: [section, name], name, value }))

  for (const { path, name, value } of places) {
    const checked = schema.safeParse(value, { reportInput: true })
    if (!checked.success) {
      issues.push(...checked.error.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })))
    } else if (typeof name !== 'string' || !isName.test(name)) {
      issues.push(custom(path, 'expected a name of letters, digits, "_", "-" and "."', name))
    } else if (entries.some((entry) => entry.name === name)) {
      issues.push(custom(path, 'expected each name once', name))
    } else entries.push({ name, value: checked.data })
  }
  return { entries, issues }
}

function nameIn(value: unknown, keys: readonly string[]): unknown {
  if (value === null || typeof value !== 'object') return undefined
  return keys.map((key) => Object.entries(value).find(([own]) => own === key)?.[1]).find((name) => name !== undefined)
}

function custom(path: PropertyKey[], message: string, input: unknown): Issue {
  return { code: 'custom', path, message, input }
}
