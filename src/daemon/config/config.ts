import { readdirSync, readFileSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { hasCode } from '../../base/files.ts'
import { toDisplayText } from '../../base/text.ts'
import type { toConfig } from './load-config.ts'

/** The complete configuration, checked and with its defaults. */
export type Config = ReturnType<typeof toConfig>

type Telegram = NonNullable<Config['telegram']>

/** Settings that are read once, when the daemon starts. A change takes effect at the next start. */
export interface RestartConfig
  extends Pick<Config, 'database' | 'http' | 'keyFile' | 'sandbox' | 'shared' | 'telemetry' | 'token'> {
  assets: Pick<Config['assets'], 'roots'>
  /** Only whether there is one. */
  callback: object | null
  capabilities: Pick<Config['capabilities'], 'maxConcurrentBuilds'>
  memory: Pick<Config['memory'], 'embedding'>
  sessions: Pick<Config['sessions'], 'maxConcurrentTurns'>
  telegram: Pick<Telegram, 'token' | 'apiRoot'> | null
  tools: Pick<Config['tools'], 'directories'>
}

/** Settings that take effect on a reload. They are given as a function and read at every use. */
export interface ReloadableConfig extends Omit<Config, keyof RestartConfig> {
  assets: Omit<Config['assets'], 'roots'>
  callback: Config['callback']
  capabilities: Omit<Config['capabilities'], 'maxConcurrentBuilds'>
  memory: Omit<Config['memory'], 'embedding'>
  sessions: Omit<Config['sessions'], 'maxConcurrentTurns'>
  telegram: Omit<Telegram, 'token' | 'apiRoot'> | null
  tools: Omit<Config['tools'], 'directories'>
}

/** The source of config files. A draft can override them, to check it before it is written. */
export interface ConfigFiles {
  /** Undefined if there is no such file; throws if it cannot be read. */
  read(path: string): string | undefined
  /** The names in a directory, sorted; empty if there is none. */
  list(directory: string): string[]
  /** Whether other users may read the file. */
  isExposed(path: string): boolean
}

export const diskFiles: ConfigFiles = {
  read: (path) => unlessAbsent(() => readFileSync(path, 'utf8')),
  list: (directory) => (unlessAbsent(() => readdirSync(directory)) ?? []).sort(),
  isExposed: (path) => process.platform !== 'win32' && ((unlessAbsent(() => statSync(path).mode) ?? 0) & 0o077) !== 0,
}

function unlessAbsent<T>(task: () => T): T | undefined {
  try {
    return task()
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined
    throw cause
  }
}

export interface ConfigProblem {
  /** The file's path; `environment` for an environment variable. */
  file: string
  /** Null if there are no lines: the environment, an unreadable file. */
  line: number | null
  /** Known for a syntax error only. */
  column?: number
  /** Dotted, as in the file (`budget.per_day_usd`); empty for a syntax error. */
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
