import type { z } from 'zod'
import { toDisplayText } from '../../../base/text.ts'

const mostIssues = 5
const mostFoundCharacters = 60

/** `trigger.type: expected one of "on_demand", "cron", "webhook", found "hourly"`, for each of the first few issues. */
export function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const told = issues.slice(0, mostIssues).map(describeIssue)
  const rest = issues.length > told.length ? [`and ${issues.length - told.length} more`] : []
  return [...told, ...rest].join('; ')
}

function describeIssue(issue: z.core.$ZodIssue): string {
  return `${pathOf(issue.path)}: ${expectedOf(issue)}, found ${describeFound(issue.input)}`
}

function pathOf(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${cut(String(step))}`))
  return steps.join('').replace(/^\./, '') || 'the manifest'
}

function expectedOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `expected ${typeWords[issue.expected] ?? `a ${issue.expected}`}`
  if (issue.code === 'invalid_value') {
    const values = issue.values.map((value) => JSON.stringify(value))
    return values.length === 1 ? `expected ${values[0]}` : `expected one of ${values.join(', ')}`
  }
  if (issue.code === 'too_small') return `expected at least ${issue.minimum}${unitOf(issue.origin)}`
  if (issue.code === 'too_big') return `expected at most ${issue.maximum}${unitOf(issue.origin)}`
  return issue.message
}

const typeWords: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  nonoptional: 'a value',
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters'
  return origin === 'array' ? ' entries' : ''
}

/** What stands there, short enough for a line. */
export function describeFound(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(cut(value))
  if (Array.isArray(value)) return 'a list'
  return value !== null && typeof value === 'object' ? 'an object' : String(value)
}

function cut(text: string): string {
  const shown = toDisplayText(text).toWellFormed()
  return shown.length > mostFoundCharacters ? `${shown.slice(0, mostFoundCharacters).toWellFormed()}…` : shown
}
