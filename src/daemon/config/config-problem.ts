import { relative } from 'node:path'
import { toDisplayText } from '../../base/text.ts'

export interface ConfigProblem {
  /** The file's path; `environment` for a variable of the environment. */
  file: string
  /** Null where there are no lines: the environment, a file that cannot be read. */
  line: number | null
  /** Known for a mistake in the syntax only. */
  column?: number
  /** Dotted, as the file writes it (`budget.per_day_usd`); empty for a mistake in the syntax. */
  key: string
  message: string
}

/** One line each: `familiar.toml:12: budget.per_day_usd: must be a number (found "lots")`. */
export function formatProblems(problems: readonly ConfigProblem[], home: string): string[] {
  return problems.map((problem) => {
    const file = problem.file.startsWith('/') ? relative(home, problem.file) || problem.file : problem.file
    const place = [file, problem.line, problem.column].filter((part) => part !== null && part !== undefined).join(':')
    const text = [place, problem.key, problem.message].filter((part) => part !== '').join(': ')
    return toDisplayText(text).replaceAll('\n', ' ')
  })
}

/** File by file, from top to bottom. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return problems.toSorted((a, b) => {
    if (a.file !== b.file) return a.file < b.file ? -1 : 1
    return (a.line ?? 0) - (b.line ?? 0)
  })
}
