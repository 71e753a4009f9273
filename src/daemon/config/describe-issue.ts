import type { z } from 'zod'
import { truncateText } from '../../base/text.ts'
import type { TomlPath } from './toml-index.ts'

const kinds: Record<string, string> = {
  string: 'text in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
}

/** zod's own messages in the words of a config file. A message written in the schema comes before these. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
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

/** ` (found "lots")`; nothing for a value that may be a secret: problems are printed and logged. */
export function foundValue(path: TomlPath, value: unknown): string {
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
