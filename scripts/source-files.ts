import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Text by path. Paths are relative to the repository and use forward slashes. */
export type SourceFiles = ReadonlyMap<string, string>

/** The result of a check: findings make it fail, the note is printed beside its name. */
export interface Report {
  findings: string[]
  note?: string
}

export function readSourceFiles(root: string, patterns: string[]): SourceFiles {
  const paths = globSync(patterns, { cwd: root, exclude: (name) => name.endsWith('node_modules') })
  const normal = paths.map((path) => path.replaceAll('\\', '/')).sort()
  return new Map(normal.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}
