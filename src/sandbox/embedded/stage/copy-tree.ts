import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextRound } from 'node:timers/promises'

/** So many bytes or entries are copied before the rest of the program has its turn. */
const bytesAtOnce = 4 * 1024 * 1024
const bytesOfAnEntry = 32 * 1024
/** From here on a file is linked instead of copied where that is possible. */
export const largeBytes = 1024 * 1024

/** Whom the copy is for, beside this user: one group, or everybody. */
interface Readers {
  gid: number
  isPrivate: boolean
}

/**
 * Copies a file or folder so that nobody but this user can write it. Links stay links. Sockets, devices and pipes are left
 * out: whatever they lead to is not part of it.
 */
export async function copyTree(options: { source: string; target: string } & Readers): Promise<void> {
  const waiting = [{ source: options.source, target: options.target }]
  let copied = 0
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { source, target } = next
    const { kind, size, mode } = statOf(source)
    if (kind === 'link') symlinkSync(readlinkSync(source), target)
    if (kind === 'file') copyOne({ source, target, size, mode }, options)
    if (kind === 'folder') {
      mkdirSync(target)
      share(target, 0o111, options)
      waiting.push(...readdirSync(source).map((name) => ({ source: join(source, name), target: join(target, name) })))
    }
    copied += bytesOfAnEntry + (kind === 'file' ? size : 0)
    if (copied < bytesAtOnce) continue
    copied = 0
    await nextRound()
  }
}

function statOf(path: string) {
  const found = lstatSync(path)
  const kind = found.isSymbolicLink() ? 'link' : found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other'
  return { kind, size: found.size, mode: found.mode } as const
}

function copyOne(file: { source: string; target: string; size: number; mode: number }, readers: Readers): void {
  const { source, target, size, mode } = file
  const isOpen = (mode & 0o004) !== 0
  if (size >= largeBytes && isOpen && tryLink(source, target)) return
  copyFileSync(source, target, constants.COPYFILE_FICLONE)
  share(target, mode, readers)
}

/** No set-user-id bit, whatever the original has. */
function share(path: string, mode: number, { gid, isPrivate }: Readers): void {
  if (process.geteuid?.() === 0) chownSync(path, 0, gid)
  const canExecute = (mode & 0o111) !== 0
  chmodSync(path, (isPrivate ? 0o750 : 0o755) & (canExecute ? 0o777 : 0o666))
}

function tryLink(source: string, target: string): boolean {
  try {
    linkSync(source, target)
    return true
  } catch {
    // Another file system.
    return false
  }
}
