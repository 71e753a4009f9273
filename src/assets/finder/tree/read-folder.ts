import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'

// All of this waits for the disk: it runs in the finder's own thread, where nobody else waits with it.

interface FolderContent {
  files: string[]
  folders: string[]
  /** Changes when a name comes or goes. */
  stamp: number
}

/**
 * The names in a folder. Symlinks are left out: what they lead to inside the root is found there. Undefined where it is
 * no folder, or where the way to it leads elsewhere, also when that was changed while it was being read.
 */
export function readFolder(path: string): FolderContent | undefined {
  return withDescriptor(path, constants.O_DIRECTORY ?? 0, (descriptor) => {
    const stamp = fstatSync(descriptor).mtimeMs
    // The names are read through the descriptor whose place is known, not by asking for the path once more.
    const held = `/proc/self/fd/${descriptor}`
    const isHeld = process.platform === 'linux'
    if ((isHeld ? readlinkSync(held) : realpathSync.native(path)) !== path) return undefined
    const content: FolderContent = { files: [], folders: [], stamp }
    for (const entry of readdirSync(isHeld ? held : path, { withFileTypes: true })) {
      if (entry.isFile()) content.files.push(entry.name)
      else if (entry.isDirectory()) content.folders.push(entry.name)
    }
    return content
  })
}

/** When a name last came or went in it; undefined where it is no folder any more. */
export function folderStamp(path: string): number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isDirectory() ? found.mtimeMs : undefined
}

const mostRuleBytes = 500_000

/** A file of ignore rules. Git follows no symlink there either. */
export function readRuleFile(path: string): { text: string; stamp: string } | undefined {
  return withDescriptor(path, constants.O_NONBLOCK ?? 0, (descriptor) => {
    const found = fstatSync(descriptor)
    if (!found.isFile() || found.size > mostRuleBytes) return undefined
    return { text: readFileSync(descriptor, 'utf8'), stamp: stampOf(found) }
  })
}

export function ruleFileStamp(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? stampOf(found) : undefined
}

function stampOf({ mtimeMs, size, ino }: { mtimeMs: number; size: number; ino: number }): string {
  return `${mtimeMs}:${size}:${ino}`
}

function withDescriptor<T>(path: string, flags: number, use: (descriptor: number) => T | undefined): T | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | flags)
    return use(descriptor)
  } catch {
    // Gone, or not for us: nothing is found there.
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** The folder itself, where the path may lead over symlinks. */
export function realFolder(path: string): string | undefined {
  try {
    const real = realpathSync.native(path)
    return folderStamp(real) === undefined ? undefined : real
  } catch {
    return undefined
  }
}
