import type { z } from 'zod'
import { truncateText } from '../../base/text.ts'

const maxIssues = 3
const maxNameLength = 60

/** What is wrong with what was given, by the names of its keys: `session: Too long; unknown key "mesage"`. */
export function describeIssues(error: z.ZodError, where: 'body' | 'query' | 'arguments'): string {
  return error.issues
    .slice(0, maxIssues)
    .map((issue) => describeIssue(issue, where))
    .join('; ')
}

function describeIssue(issue: z.core.$ZodIssue, where: string): string {
  const path = issue.path.map((part) => truncateText(String(part), maxNameLength)).join('.') || where
  if (issue.code !== 'unrecognized_keys') return `${path}: ${issue.message}`
  const keys = issue.keys.slice(0, maxIssues).map((key) => JSON.stringify(truncateText(key, maxNameLength)))
  return `${path}: unknown key ${keys.join(', ')}`
}
