import { readdirSync, readFileSync, statSync } from 'node:fs'

/** The files that config is read from. A draft can be laid over them, to check it before it is written. */
export interface ConfigFiles {
  /** Undefined where there is no such file; throws where it cannot be read. */
  read(path: string): string | undefined
  /** The names in a directory, sorted; empty where there is none. */
  list(directory: string): string[]
  /** Whether others than the owner may read the file. */
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
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw cause
  }
}
