import type { CapabilityFiles } from '../capability.ts'

const mostFiles = 50
const mostFileBytes = 256 * 1024
const mostBytes = 2 * 1024 ** 2
const longestPath = 200
// One way to write each path, the same on every system: no `..`, nothing hidden, nothing absolute, no empty step.
const plainPath = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*){0,7}$/

/** What is wrong with the paths and sizes of files that are to become a version. Empty: nothing. */
export function checkFiles(files: CapabilityFiles): string[] {
  const problems: string[] = []
  if (files.size > mostFiles) problems.push(`There are ${files.size} files; a capability has at most ${mostFiles}.`)
  let bytes = 0
  const taken = new Map<string, string>()
  for (const [path, content] of files) {
    bytes += content.length
    if (path.length > longestPath || !plainPath.test(path)) {
      const shown = JSON.stringify(path.slice(0, longestPath).toWellFormed())
      problems.push(
        `${shown} is no plain path: use letters, digits, "_", "-", "." and "/", with no step that is hidden.`,
      )
      continue
    }
    if (content.length > mostFileBytes) {
      problems.push(`${path} has ${kilobytes(content.length)} KB; a file has at most ${kilobytes(mostFileBytes)} KB.`)
    }
    // Where upper and lower case are one, the second would be written over the first.
    const other = taken.get(path.toLowerCase())
    if (other !== undefined) problems.push(`${path} and ${other} differ in upper and lower case only.`)
    taken.set(path.toLowerCase(), path)
  }
  for (const [lower, path] of taken) {
    const folder = foldersOf(lower).find((step) => taken.has(step))
    if (folder !== undefined) problems.push(`${taken.get(folder)} is a file, and ${path} lies in it.`)
  }
  if (bytes > mostBytes) {
    problems.push(`The files have ${kilobytes(bytes)} KB in all; a capability has at most ${kilobytes(mostBytes)} KB.`)
  }
  return problems
}

/** A file as text; undefined where it is not there or no text. */
export function readText(files: CapabilityFiles, path: string): string | undefined {
  const bytes = files.get(path)
  return bytes === undefined ? undefined : decodeText(bytes)
}

/** Undefined where the bytes are no text. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** `a/b/c` lies in `a` and `a/b`. */
export function foldersOf(path: string): string[] {
  const steps = path.split('/').slice(0, -1)
  return steps.map((_, index) => steps.slice(0, index + 1).join('/'))
}

function kilobytes(bytes: number): number {
  return Math.ceil(bytes / 1024)
}
