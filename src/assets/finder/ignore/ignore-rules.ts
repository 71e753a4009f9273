import { compileGlob } from './compile-glob.ts'

interface Rule {
  /** True: what fits is ignored. False: it is not, whatever came before. */
  ignores: boolean
  isForFolders: boolean
  fits(name: string, path: string): boolean
}

/** What one .gitignore says. `name` is the last part of `path`, which begins at the folder of the file. */
export interface IgnoreRules {
  /** Undefined where it says nothing of it. */
  decide(entry: { name: string; path: string; isFolder: boolean }): 'ignored' | 'kept' | undefined
}

/** Reads a .gitignore as git does. No text is refused: a line that means nothing ignores nothing. */
export function parseIgnoreRules(text: string): IgnoreRules | undefined {
  // The last rule that fits counts.
  const rules = toBytes(text.replace(/^\ufeff/, ''))
    .split('\n')
    .map(parseLine)
    .filter((rule) => rule !== undefined)
    .reverse()
  if (rules.length === 0) return undefined
  return {
    decide({ name, path, isFolder }) {
      const byteName = toBytes(name)
      const bytePath = toBytes(path)
      const rule = rules.find((one) => (isFolder || !one.isForFolders) && one.fits(byteName, bytePath))
      return rule && (rule.ignores ? 'ignored' : 'kept')
    },
  }
}

function parseLine(line: string): Rule | undefined {
  if (line.startsWith('#')) return undefined
  let pattern = withoutTrailingSpaces(line.endsWith('\r') ? line.slice(0, -1) : line)
  const ignores = !pattern.startsWith('!')
  if (!ignores) pattern = pattern.slice(1)
  const isForFolders = pattern.endsWith('/')
  if (isForFolders) pattern = pattern.slice(0, -1)
  if (pattern === '') return undefined
  const isAnchored = pattern.includes('/')
  const glob = compileGlob(pattern.startsWith('/') ? pattern.slice(1) : pattern)
  if (!glob) return undefined
  return { ignores, isForFolders, fits: (name, path) => glob(isAnchored ? path : name) }
}

/** A space at the end counts only behind a backslash. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === ' ') end -= 1
  if (end === line.length) return line
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes += 1
  return line.slice(0, slashes % 2 === 1 ? end + 1 : end)
}

function toBytes(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1')
}
