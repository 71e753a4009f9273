import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextRound } from 'node:timers/promises'
import { sha256 } from '../../../base/hash.ts'
import { largeBytes } from './copy-tree.ts'

export interface TreeStamp {
  /** Another one when anything in the folder was changed, added, removed or renamed. */
  stamp: string
  /** Everybody on this machine can read it as it lies there. */
  isOpen: boolean
}

/** So many entries are looked at before the rest of the program has its turn. */
const entriesAtOnce = 200

/**
 * What the file or folder looks like now. A folder that not even its owner may write is taken as finished: only it itself
 * is looked at, so that a thousand installed files cost nothing.
 */
export async function stampTree(source: string): Promise<TreeStamp> {
  const lines: string[] = []
  let isOpen = ancestorsAreOpen(source)
  const waiting = [source]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const found = lstatSync(path)
    // A large file gets another ctime when it is linked, and what is linked shows every change anyway.
    const changedAt = found.isFile() && found.size >= largeBytes ? 0 : found.ctimeMs
    lines.push(`${path}\0${found.ino}:${found.size}:${found.mtimeMs}:${changedAt}:${found.mode}`)
    isOpen &&= isOpenTo(found)
    const isFinished = path === source && (found.mode & 0o222) === 0
    // Whether everything in it is readable was not looked at.
    if (isFinished && found.isDirectory()) isOpen = false
    if (found.isDirectory() && !isFinished) waiting.push(...readdirSync(path).map((name) => join(path, name)))
    if (lines.length % entriesAtOnce === 0) await nextRound()
  }
  return { stamp: sha256(lines.sort().join('\n')), isOpen }
}

function isOpenTo(found: Stats): boolean {
  if (found.isSymbolicLink()) return true
  return (found.mode & (found.isDirectory() ? 0o005 : 0o004)) === (found.isDirectory() ? 0o005 : 0o004)
}

function ancestorsAreOpen(source: string): boolean {
  for (let path = dirname(source); ; path = dirname(path)) {
    if ((lstatSync(path).mode & 0o001) === 0) return false
    if (path === dirname(path)) return true
  }
}
